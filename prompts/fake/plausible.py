"""A fake model's replies where no script says anything: plausible ones, by rules, from what the prompt shows.

The reply to each prompt of this program is made from its values (`asked.py`); a prompt of others gets an instance of
its JSON schema, or prose.
"""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from conspectus.prompts.fake import answers, indexing
from conspectus.prompts.fake.asked import Asked, asked
from conspectus.prompts.fake.habits import Form, Habits, spoken
from conspectus.prompts.fake.replies import FakeRequest, instance, made_up

Made = str | dict[str, object]

_BARE: tuple[str, ...] = ("_claims", "_slots")
_MAKERS: Mapping[str, tuple[Form, Callable[[Asked], Made]]] = {
    "index/extract": ("records", indexing.extracted),
    "index/glean": ("records", lambda _: "<|COMPLETE|>"),
    "index/glean_more": ("choice", lambda _: {"reason": "Every name has a record.", "answer": "No"}),
    "index/claims": ("records", indexing.claims),
    "index/openie_ner": ("json", indexing.named_entities),
    "index/openie_triples": ("json", indexing.triples),
    "index/summarise": ("json", indexing.summary),
    "index/report": ("json", indexing.report),
    "index/resolve": ("json", indexing.votes),
    "index/tune_example": ("records", indexing.extracted),
    "index/tune_claims_example": ("records", indexing.claims),
    "query/answer_from_passages": ("cited", answers.cited),
    "query/local_answer": ("cited", answers.cited),
    "query/global_reduce": ("cited", answers.cited),
    "query/drift_reduce": ("cited", answers.cited),
    "query/passages_answer": ("cited", answers.cited),
    "query/global_map": ("json", answers.points),
    "query/global_map_passages": ("json", lambda each: answers.points(each, "passages")),
    "query/global_rate_report": ("choice", answers.rating),
    "query/lazy_questions": ("json", lambda _: {"questions": []}),
    "query/lazy_relevance": ("scores", lambda each: answers.scores(each, "passages")),
    "query/drift_primer": ("json", answers.branch),
    "query/drift_follow_up": ("json", answers.branch),
    "query/drift_hypothesis": ("prose", answers.hypothesis),
    "query/ircot_thought": ("line", answers.thought),
    "query/hipporag_question_entities": ("json", lambda each: {"entities": answers.question_names(each)}),
    "query/hipporag_fact_filter": ("json", answers.helpful_facts),
    "query/fasttog_start": ("json", answers.picks),
    "query/fasttog_step": ("choice", answers.picks),
    "query/fasttog_subjects": ("json", lambda each: {"subjects": answers.question_names(each)}),
    "query/fasttog_reason": ("json", answers.from_facts),
    "query/answer_from_facts": ("json", answers.from_facts),
    "query/cok": ("json", answers.from_facts),
    "query/gretriever_zero_shot": ("json", answers.from_tables),
    "query/gretriever_zero_cot": ("json", answers.from_tables),
    "query/gretriever_cot_bag": ("json", answers.from_tables),
    "query/gretriever_question_only": ("json", lambda _: {"answer": "Unknown", "names": []}),
    "query/tog_relations": ("scores", lambda each: answers.scores(each, "relations")),
    "query/tog_entities": ("scores", lambda each: answers.scores(each, "entities")),
    "query/tog2_score": ("scores", lambda each: answers.scores(each, "pieces")),
    "query/tog2_topics": ("json", answers.topics),
    "query/tog2_qa": ("verdict", answers.reasoning),
    "query/tog2_last_qa": ("verdict", answers.reasoning),
    "query/tog2": ("verdict", answers.reasoning),
    "query/tog2_clue": ("line", answers.next_question),
    "query/tog_answer": ("verdict", answers.braced),
    "query/cot": ("line", lambda _: "Nothing is known of this. So the answer is: unknown"),
    "query/io": ("line", lambda _: "unknown"),
    "query/rewrite_follow_up": ("json", lambda each: {"question": each.values.get("question", "")}),
    "query/verify_citation": ("choice", answers.agrees),
    "judge/compare": ("json", answers.better),
    "judge/questions": (
        "json",
        lambda each: {"questions": answers.asked_of(each, ("What does the collection say about {} ({})?",))},
    ),
    "judge/tasks": ("json", lambda each: {"tasks": answers.asked_of(each, ("Understand {} ({}).",))}),
    "doctor/hello": ("line", lambda _: "Hello"),
    "doctor/stream": ("line", lambda _: "One, two, three, four, five."),
}


class Plausible:
    """Makes the reply to a request, with the habits of a family of models.

    The same request always gets the same reply, in a manner that `seed` changes. With any habits the replies say the
    same.
    """

    def __init__(self, habits: Habits = "none", seed: int = 0) -> None:
        self._habits = habits
        self._seed = seed

    def __call__(self, request: FakeRequest) -> str:
        """Return the reply to a request."""
        wanted = asked(request)
        maker = _maker(wanted.name) if wanted else None
        if wanted is None or maker is None:
            return made_up(request)
        form, make = maker
        made = make(wanted)
        if isinstance(made, dict):
            made = _fitted(made, request)
        elif request.schema is not None and "properties" in request.schema:
            made = _fitted({"answer": made}, request)
        # A model that is told what was wrong with its reply takes more care.
        return spoken(made, form, "none" if wanted.again else self._habits, self._drawing(request))

    def _drawing(self, request: FakeRequest) -> random.Random:
        return random.Random(f"{self._seed} {request.digest}")  # noqa: S311 - repeatable chance is the point


def _maker(name: str) -> tuple[Form, Callable[[Asked], Made]] | None:
    """Return what makes the reply to a prompt; the variants for claims and slots are asked like their question."""
    for variant in _BARE:
        name = name.removesuffix(variant)
    return _MAKERS.get(name)


def _fitted(content: dict[str, object], request: FakeRequest) -> dict[str, object]:
    """Return the members that the schema of a request has, in its order; what is missing is made up."""
    schema = request.schema or json_schema_in(request)
    if schema is None or "properties" not in schema:
        return content
    rng = random.Random(request.digest)  # noqa: S311 - repeatable chance is the point
    return {
        key: content[key] if key in content else instance(member, schema, rng)
        for key, member in schema["properties"].items()
    }


def json_schema_in(request: FakeRequest) -> Mapping[str, Any] | None:
    """Return the JSON schema that the last lines of a prompt show."""
    last = request.last.rstrip().rpartition("\n")[2]
    try:
        found = json.loads(last) if last.startswith("{") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
