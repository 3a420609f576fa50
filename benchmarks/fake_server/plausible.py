"""Plausible rule-based replies to requests that no script covers, made from the text of the prompt.

The reply to each of our own prompts is made from its values (`filled_prompt.py`); any other prompt gets an instance of
its JSON schema, or prose.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.fake_server import answers, indexing
from benchmarks.fake_server.filled_prompt import FilledPrompt, asked
from benchmarks.fake_server.habits import Form, Habits, spoken
from benchmarks.fake_server.replies import FakeRequest, instance, made_up

Made = str | dict[str, object]

_MAKERS: Mapping[str, tuple[Form, Callable[[FilledPrompt], Made]]] = {
    "index/extract": ("records", indexing.extracted),
    "index/glean": ("records", lambda _: "<|COMPLETE|>"),
    "index/glean_check": ("choice", lambda _: {"reason": "Every name has a record.", "answer": "No"}),
    "index/claims": ("records", indexing.claims),
    "index/extract_json": ("records", indexing.extracted),
    "index/claims_glean": ("records", lambda _: "<|COMPLETE|>"),
    "index/openie_ner": ("json", indexing.named_entities),
    "index/openie_triples": ("json", indexing.triples),
    "index/summarise": ("json", indexing.summary),
    "index/report": ("json", indexing.report),
    "index/resolve": ("json", indexing.votes),
    "index/tune_domain": (
        "json",
        lambda _: {"domain": "Notes on a town, its people and its works, for its own citizens.", "language": "English"},
    ),
    "index/tune_entity_types": ("json", lambda _: {"types": ["person", "organization", "place", "event", "work"]}),
    "index/tune_example": ("records", indexing.extracted),
    "index/tune_claims_example": ("records", indexing.claims),
    "query/answer/from_passages": ("cited", answers.cited),
    "query/graphrag/local_answer": ("cited", answers.cited),
    "query/graphrag/global_reduce": ("cited", answers.cited),
    "query/graphrag/drift_reduce": ("cited", answers.cited),
    "query/graphrag/vector_answer": ("cited", answers.cited),
    "query/graphrag/global_map": ("json", answers.points),
    "query/graphrag/global_map_passages": ("json", answers.points),
    "query/graphrag/global_rate_report": ("choice", answers.rating),
    "query/graphrag/lazy_questions": ("json", lambda _: {"questions": []}),
    "query/graphrag/lazy_relevance": ("scores", lambda each: answers.scores(each, "passages")),
    "query/graphrag/drift_primer": ("json", answers.branch),
    "query/graphrag/drift_follow_up": ("json", answers.branch),
    "query/graphrag/drift_hypothesis": ("prose", answers.hypothesis),
    "query/hipporag/ircot_thought": ("line", answers.thought),
    "query/hipporag/question_entities": ("json", lambda each: {"entities": answers.question_names(each)}),
    "query/hipporag/fact_filter": ("json", answers.helpful_facts),
    "query/fasttog/start": ("json", answers.picks),
    "query/fasttog/step": ("json", answers.picks),
    "query/fasttog/subjects": ("json", lambda each: {"subjects": answers.question_names(each)}),
    "query/fasttog/reason": ("json", answers.from_facts),
    "query/answer/from_facts": ("json", answers.from_facts),
    "query/answer/mixed": ("json", answers.from_facts),
    "query/gretriever/zero_shot": ("json", answers.from_tables),
    "query/gretriever/zero_cot": ("json", answers.from_tables),
    "query/gretriever/cot_bag": ("json", answers.from_tables),
    "query/gretriever/question_only": ("json", lambda _: {"answer": "Unknown", "names": []}),
    "query/tog/relations": ("scores", lambda each: answers.scores(each, "relations")),
    "query/tog/entities": ("scores", lambda each: answers.scores(each, "entities")),
    "query/plan": ("json", answers.plan),
    "query/tog2/score": ("scores", lambda each: answers.scores(each, "pieces")),
    "query/tog2/topics": ("json", answers.topics),
    "query/tog2/qa": ("json", answers.reasoning),
    "query/tog2/last_qa": ("json", answers.reasoning),
    "query/tog2/clue": ("line", answers.next_question),
    "query/tog/answer": ("verdict", answers.braced),
    "query/answer/cot": ("line", lambda _: "Nothing is known of this. So the answer is: unknown"),
    "query/answer/io": ("line", lambda _: "unknown"),
    "query/rewrite_follow_up": ("json", lambda each: {"question": each.values.get("question", "")}),
    "query/verify_citation": ("choice", answers.agrees),
    "judge/compare": ("json", answers.better),
    "judge/questions": (
        "json",
        lambda each: {"questions": answers.asked_of(each, ("What does the collection say about {} ({})?",))},
    ),
    "judge/tasks": ("json", lambda each: {"tasks": answers.asked_of(each, ("Understand {} ({}).",))}),
    "doctor/hello": ("line", lambda _: "Hello"),
    "doctor/words": ("line", lambda asked: ", ".join(re.findall(r"code word is (\w+)", asked.values["lines"]))),
}


class Plausible:
    """Makes the reply to a request, with the habits of a family of models.

    The same request always gets the same reply, in a style that depends on `seed`. Habits do not change the content.
    For the share `gleaned` of texts the first extraction leaves records out, which gleaning finds.
    """

    def __init__(self, habits: Habits = "none", seed: int = 0, gleaned: float = 0.0) -> None:
        self._habits = habits
        self._seed = seed
        self._gleaned = gleaned

    def __call__(self, request: FakeRequest) -> str:
        """Return the reply to a request."""
        wanted = asked(request)
        maker = _maker(wanted.name) if wanted else None
        if wanted is None or maker is None:
            return made_up(request)
        form, make = maker
        made = (self._in_two_replies(wanted) if self._gleaned else None) or make(wanted)
        if isinstance(made, dict):
            made = _fitted(made, request)
        elif request.schema is not None and "properties" in request.schema:
            made = _fitted({"answer": made}, request)
        # A model that is shown the error in its reply takes more care.
        return spoken(made, form, "none" if wanted.again else self._habits, self._drawing(request))

    def _in_two_replies(self, wanted: FilledPrompt) -> Made | None:
        if wanted.name not in ("index/extract", "index/glean_check", "index/glean"):
            return None
        first, second = indexing.in_two_replies(wanted, self._gleaned)
        if wanted.name == "index/glean_check" and second:
            return {"reason": "Some relationships have no record.", "answer": "Yes"}
        return {"index/extract": first, "index/glean": second}.get(wanted.name)

    def _drawing(self, request: FakeRequest) -> random.Random:
        return random.Random(f"{self._seed} {request.digest}")


def _maker(name: str) -> tuple[Form, Callable[[FilledPrompt], Made]] | None:
    """Return the maker of the reply to a prompt; the variants for claims and slots are treated like their question."""
    question = re.sub("_(?:claims|slots)$", "", name)
    return _MAKERS.get(question) or _MAKERS.get(re.sub("(?:claims|slots)$", "qa", name))


def _fitted(content: dict[str, object], request: FakeRequest) -> dict[str, object]:
    """Return the members that the schema of a request has, in its order; missing ones are made up."""
    schema = request.schema or json_schema_in(request)
    if schema is None or "properties" not in schema:
        return content
    rng = random.Random(request.digest)
    return {
        key: content[key] if key in content else instance(member, schema, rng)
        for key, member in schema["properties"].items()
    }


def json_schema_in(request: FakeRequest) -> Mapping[str, Any] | None:
    """Return the JSON schema in the last lines of a prompt."""
    last = request.last.rstrip().rpartition("\n")[2]
    try:
        found = json.loads(last) if last.startswith("{") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
