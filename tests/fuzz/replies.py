"""What is fuzzed of what models reply: every form that is read."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conspectus.pipelines.steps.descriptions import DescriptionAnswer
from conspectus.pipelines.steps.extract.openie import NamedEntities, Triples
from conspectus.pipelines.steps.reports.cite import ReportAnswer
from conspectus.pipelines.tuning.tune import DomainAnswer, PersonaAnswer, TypesAnswer
from conspectus.prompts.client.completions import TokenRate, read_completion
from conspectus.prompts.client.retry import TryAgain
from conspectus.prompts.replies.choose import Chosen
from conspectus.prompts.replies.records import read_records
from conspectus.prompts.replies.typed import read_answer, read_choice
from conspectus.query.methods.fasttog import fasttog as fasttog_model
from conspectus.query.methods.graphrag.drift import DriftReply
from conspectus.query.methods.graphrag.map_step import Points
from conspectus.query.methods.hipporag.query_nodes import QuestionEntities
from conspectus.query.methods.tog import pruning_llm as tog_policy
from conspectus.query.walk import verdicts as walk_replies
from conspectus.storage.errors import ConspectusError
from pydantic import BaseModel

from tests.fuzz.target import Target

FORMS: Mapping[type[BaseModel], object] = {
    ReportAnswer: {
        "title": "A", "summary": "B", "rating": 5, "rating_explanation": "C",
        "findings": [{"summary": "D", "explanation": "E", "records": ["E1", "R2"]}],
    },
    DescriptionAnswer: {"description": "Ada met Charles."},
    NamedEntities: {"entities": ["Ada", "Charles"]},
    Triples: {"triples": [["Ada", "met", "Charles"]]},
    DomainAnswer: {"domain": "Letters.", "language": "English"},
    PersonaAnswer: {"extraction": "You read.", "reports": "You write."},
    TypesAnswer: {"types": ["person", "place"]},
    Points: {"points": [{"description": "A", "score": 80, "numbers": [1, 3]}]},
    DriftReply: {"answer": [{"text": "A", "sources": [1]}], "score": 40, "follow_ups": ["Who?"]},
    Chosen: {"chosen": [{"number": 2, "why": "So.", "score": 9}]},
    QuestionEntities: {"entities": ["Ada"]},
    tog_policy.Reasoned: {"reason": "So.", "sufficient": True, "answer": "Ada", "facts": [1]},
    fasttog_model.SubjectReply: {"subjects": ["Ada"]},
    fasttog_model.AnswerReply: {"answer": "Ada", "names": ["Ada"], "facts": [1]},
    walk_replies.FactsReply: {"answer": "Ada", "names": ["Ada"], "facts": [1], "passages": [2]},
}  # fmt: skip
"""Every form that a model is asked for, and a good reply."""

RECORDS = (
    '("entity"<|>"Ada"<|>"person"<|>"Ada met Charles.")##\n("relationship"<|>"Ada"<|>"Charles"<|>"They met."<|>7)##\n'
    '("claim"<|>"Ada"<|>"NONE"<|>"ACT"<|>"TRUE"<|>"1843"<|>"NONE"<|>"Ada wrote."<|>"She wrote it.")##\n<|COMPLETE|>'
)
BODY = {
    "choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def targets() -> Iterator[Target]:
    """Yield what is fuzzed."""
    yield Target(
        "reply records", (RECORDS.encode(),), _said(lambda text: read_records(text, cut_off=len(text) % 2 == 0))
    )
    yield Target(
        "reply choice", (b'{"answer": "Yes"}', b"Yes, it is."), _said(lambda text: read_choice(text, ("Yes", "No")))
    )
    for form, good in FORMS.items():
        plain = json.dumps(good)
        seeds = (plain, f"Here it is:\n```json\n{plain}\n```", f"<think>Hm.</think>{plain}")
        name = f"reply {form.__module__.rpartition('.')[2]}.{form.__name__}"
        yield Target(name, tuple(each.encode() for each in seeds), _said(_answer(form)))
    reasons = (b"{Yes} {Ada} [1][2]", b"{No} {Nothing is known; more has to be found.} [3]")
    yield Target("reply reasoning", reasons, _said(_reasoning))
    yield Target("reply body", (json.dumps(BODY).encode(),), _body)


def _answer(form: type[BaseModel]) -> Callable[[str], object]:
    return lambda text: read_answer(text, form, cut_off=len(text) % 2 == 0)


def _reasoning(text: str) -> object:
    return walk_replies.read_reasoning(text), walk_replies.in_braces(text), walk_replies.listed_names(text)


def _said(read: Callable[[str], object]) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        try:
            read(content.decode("utf-8", "surrogateescape"))  # JSON may hold halves of surrogate pairs
        except ConspectusError:
            return

    return run


def _body(content: bytes) -> None:
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError):
        return
    if isinstance(body, dict):
        try:
            read_completion(body, "m", 100, TokenRate())
        except TryAgain:
            return
