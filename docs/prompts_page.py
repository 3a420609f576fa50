"""The page of the site that shows every prompt as sent, filled in with an example of ours; `conf.py` writes it."""

from conspectus.prompts.render import PLACEHOLDER, messages, prompt_text, tagged, template_names

_HEAD = """# Prompts

Every prompt as it is sent, filled in with an example. The files are in `prompts/`; `make docs` makes this page of them.

The system message has the rules, the user message the material and the question. Text from documents, models or users
is in named tags that it cannot close. Where a reply has a JSON schema, the schema is sent too; its keys are in the
order in which a model should think. A server without a system role gets the rules in front of the first message.

`llm.prompts` names a folder whose files replace prompts: `FOLDER/query/answer/io.txt` replaces
`prompts/query/answer/io.txt`. A file must have the placeholders of the prompt that it replaces; one that lacks any
is an error that names it.
"""

_WHEN_UNUSABLE = """## When a reply cannot be used

The reply and one of these messages are appended to the conversation, and the model is asked once more.
"""
_PASSAGES = """[1] Weir Street bridge
The Weir Street bridge was built from 1911 to 1913 by the engineer Hanna Olsson.

[2] Hanna Olsson
Hanna Olsson (1870-1944) was born in the mining town of Kallberg."""
_MATERIAL = """- (score 80) The bridge was built by Hanna Olsson. [1]
- (score 60) She came from the mining town of Kallberg. [2]"""
_RECORDS = """[E1] Weir Street bridge (work, 3 passages, 2 relationships): It crosses the Tarn.
[R1] Hanna Olsson -> Weir Street bridge (built): She built it from 1911 to 1913."""
_TEXT = "The Weir Street bridge was built from 1911 to 1913 by the engineer Hanna Olsson, who was born in Kallberg."

EXAMPLES = {
    "question": "In which town was the engineer of the Weir Street bridge born?",
    "passages": _PASSAGES,
    "reports": _PASSAGES,
    "material": _MATERIAL,
    "report": "# Bridges of Tarn\n\nThe bridges over the Tarn were built between 1880 and 1913.",
    "example": "The mills on the Tarn ground rye for the valley until the railway came.",
    "source": "Hanna Olsson (1870-1944) was born in the mining town of Kallberg.",
    "sentence": "Hanna Olsson was born in Kallberg.",
    "facts": "1. Weir Street bridge engineer Hanna Olsson\n2. Hanna Olsson born in Kallberg",
    "chains": "Chain 1:\n- [1] Weir Street bridge engineer Hanna Olsson.\n- [2] Hanna Olsson born in Kallberg.",
    "subjects": "Weir Street bridge",
    "premise": "Weir Street bridge",
    "selections": "A. Weir Street bridge crosses Tarn.\nB. Weir Street bridge engineer Hanna Olsson.",
    "graph": 'node_id,node_attr\n0,Weir Street bridge\n1,Hanna Olsson\n\nedge_id,src,edge_attr,dst\n0,0,engineer,1',
    "relations": "1. (Weir Street bridge) -[crosses]-> (?)\n2. (Weir Street bridge) -[engineer]-> (?)",
    "entities": "1. Hanna Olsson\n2. Tarn",
    "path": "(Weir Street bridge) -[engineer]-> (?)",
    "paths": "(Weir Street bridge) -[engineer]-> (Hanna Olsson)",
    "pieces": _PASSAGES,
    "evidence": f"Path 1:\n[1] (Weir Street bridge) -[engineer]-> (Hanna Olsson)\n[2] Hanna Olsson\n{_TEXT}",
    "known": "The engineer was Hanna Olsson.",
    "found": "The engineer was Hanna Olsson.",
    "tried": "Weir Street bridge -[crosses]->: leads to Tarn",
    "clue": "Where was Hanna Olsson born?",
    "thoughts": "The Weir Street bridge was built by the engineer Hanna Olsson.",
    "follow_up": "Where was Hanna Olsson born?",
    "conversation": '[{"question": "Who built the Weir Street bridge?", "answer": "Hanna Olsson [1]."}]',
    "first_answer": "She was born in Kallberg, as the parish register says.",
    "second_answer": "In Kallberg.",
    "description": "It holds 12 documents. What its parts are about:\n\n- Bridges of Tarn\n- Mills of Tarn",
    "collection": "The collection holds 12 documents.",
    "user": "A local historian, who wants to know who built the town.",
    "task": "Write a history of the town's bridges.",
    "text": _TEXT,
    "title": "Weir Street bridge",
    "section": "History",
    "records": _RECORDS,
    "pairs": 'Pair 1\n"H. Olsson" (person): "H. Olsson drew it."\n"Hanna Olsson" (person): "Hanna Olsson led it."',
    "thing": "Hanna Olsson",
    "descriptions": "- Hanna Olsson is an engineer.\n- Hanna Olsson built the Weir Street bridge.",
    "domain": "Papers on the buildings of the town of Tarn.",
    "sample": tagged("excerpt", _TEXT),
    "persona": "",
    "style": "",
    "language": "English",
    "reason": "no JSON in it",
    "schema": '{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}',
    "words": "300",
    "most": "3",
    "count": "3",
    "follow_ups": "5",
    "findings": "10",
    "fewest": "4",
    "entity_types": "person, work, geo",
    "claim_description": "accusations, contracts and payments",
    "names": "Weir Street bridge",
    "predicates": "p:engineer (12): Weir Street bridge | Hanna Olsson",
    "entities_named": '["Hanna Olsson", "Kallberg"]',
}  # fmt: skip
"""The values of the placeholders on the page."""
_REASONS = {
    "index/extract_again": "its records lack a name or an end",
    "index/tune_again": "there is no record",
    "query/answer_again": "empty",
    "query/sparql_again": "it finds nothing",
}


def page() -> str:
    """Return the page: a section for each prompt that begins with a system message, then the complaints."""
    parts = [_HEAD]
    for folder, title in (("index", "Indexing"), ("query", "Questions"), ("judge", "Judging")):
        names = [name for name in template_names(folder) if prompt_text(name).startswith("[system]")]
        parts += [f"## {title}\n", *map(_section, names)]
    complaints = [
        name for folder in ("json", "index", "query") for name in template_names(folder) if name.endswith("again")
    ]
    parts += [_WHEN_UNUSABLE, *map(_section, complaints)]
    return "\n".join(parts)


def _section(name: str) -> str:
    turns = (f"*{turn.role}*\n\n````text\n{turn.content}\n````\n" for turn in messages(name, **_values(name)))
    return "\n".join([f"### {name}\n", *turns])


def _values(name: str) -> dict[str, str]:
    places = {place for _, place in PLACEHOLDER.findall(prompt_text(name))}
    given = {place: EXAMPLES.get(place, f"({place})") for place in places}
    if name.startswith("index/"):
        examples = prompt_text("index/claims_examples" if "claims" in name else "index/extract_examples")
        given |= dict.fromkeys(places & {"examples"}, examples)
        given |= {place: prompt_text(f"{name}_example") for place in places & {"example"}}
    if name in ("query/graphrag/local_answer", "query/graphrag/vector_answer"):
        given["material"] = _PASSAGES
    if name.startswith("query/tog2/last"):
        given["allowed"] = prompt_text("query/tog2/from_knowledge")
    if name == "query/plan":
        given["predicates"] = given["predicates"].removeprefix("p:")
    if name == "judge/compare":
        given["criterion"] = prompt_text("judge/comprehensiveness")
    if name in _REASONS:
        given["reason"] = _REASONS[name]
    if "entities" in places and name.startswith("index/"):
        given["entities"] = EXAMPLES["entities_named"]
    return given
