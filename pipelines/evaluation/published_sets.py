"""Read question sets over knowledge graphs in their published formats.

    MetaQA            question with its [topic] in brackets, a tab, the answers with | between (qa_test.txt)
    WebQSP            {"Questions": [{"RawQuestion", "Parses": [{"TopicEntityName", "Answers"}]}]}
    CWQ               [{"ID", "question", "answers": [{"answer"}]}]
    RoG               a line {"id", "question", "answer", "q_entity", "graph": [[head, relation, tail], ...]}
    QALD              {"questions": [{"id", "question": [{"language", "string"}], "answers": [SPARQL results]}]}
    KILT              a line {"id", "input": "subject [SEP] relation", "output": [{"answer"}]}: Zero-Shot RE, T-REx
    Creak             a line {"ex_id", "sentence", "entity", "label": "true" or "false"}
    FEVER             a line {"id", "claim", "label": "SUPPORTS", "REFUTES" or "NOT ENOUGH INFO"}

Formats with one question a line may also be one list in a `.json`, as may WebQSP's questions: ToG's samples of these
sets are published in this form, with the topics of a question in `topic_entity` or `qid_topic_entity`, {id: name}.
The format follows from the content of a file. `conspectus index --kg` also reads the graphs in RoG's questions.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.pipelines.exchange.kg.builder import local_name
from conspectus.query.question.tasks import Task
from conspectus.storage.errors import InputError

_LANGUAGE = "en"
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_SEPARATOR = "[SEP]"


UNANSWERABLE = "unanswerable"
"""The kind of questions that the graph or the documents cannot answer."""


@dataclass(frozen=True, slots=True)
class SuiteQuestion:
    """A question, its accepted answers, and the ids of the documents that support them.

    Over a graph, `entities` are the names of its topics, `answers` the whole set of things that answer it, and `hops`
    their distance, 0 if unknown. `kind` names a group of questions that are measured together; one of the kind
    `unanswerable` has no answers and should be declined. A claim has a `label`: the right verdict. A question about a
    slot also has the `slot`, `thing [SEP] relation`, in addition to its wording.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    supporting: tuple[str, ...]
    entities: tuple[str, ...] = ()
    label: str = ""
    hops: int = 0
    slot: str = ""
    kind: str = ""

    @property
    def unanswerable(self) -> bool:
        """Whether the right answer is that the index does not contain it."""
        return self.kind == UNANSWERABLE and not self.answers

    @property
    def task(self) -> Task:
        """The task: a claim if there is a label and no question mark, which yes-or-no questions have."""
        if self.slot:
            return "slots"
        is_claim = self.label and not self.answers and not self.question.rstrip().endswith(("?", "？"))
        return "claims" if is_claim else "qa"


_Reader = Callable[[dict[str, Any]], SuiteQuestion]


def read_published(file: Path) -> list[SuiteQuestion] | None:
    """Return the questions of a published file, None if the format is unknown.

    InputError names the line or the question that differs in form from the others.
    """
    if file.suffix == ".txt":
        return list(_metaqa(file))
    if file.suffix == ".json":
        return _whole(file)
    first = next(_some_rows(file), None)
    for keys, read in _LINES.items():
        if isinstance(first, dict) and keys <= first.keys():
            return [_read(where, row, read) for where, row in rows_of(file)]
    return None


def brings_graphs(file: Path) -> bool:
    """Return whether the questions of a file contain the triples around them."""
    first = next(_some_rows(file), None) if file.suffix == ".jsonl" else None
    return isinstance(first, dict) and isinstance(first.get("graph"), list)


def _some_rows(file: Path) -> Iterator[Any]:
    """Yield the first row if it can be read; the proper reader reports errors in it."""
    try:
        for _, row in islice(rows_of(file), 1):
            yield row
    except InputError:
        return


def _read(where: str, row: Any, read: Callable[[dict[str, Any]], SuiteQuestion]) -> SuiteQuestion:  # noqa: ANN401
    try:
        return read(row)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{where}: not a question like the others: {type(error).__name__} {error}") from error


def _metaqa(file: Path) -> Iterator[SuiteQuestion]:
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        asked, tab, answers = line.partition("\t")
        topics = tuple(_BRACKETS.findall(asked))
        if not tab or not topics:
            raise InputError(f"{file}:{number}: a question of MetaQA has a [topic], a tab and answers")
        text = _BRACKETS.sub(r"\1", asked).strip()
        yield SuiteQuestion(f"{file.stem}-{number}", text, _each(answers.split("|")), (), topics)


def _whole(file: Path) -> list[SuiteQuestion]:
    try:
        found = json.loads(file.read_text("utf-8-sig"))
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from error
    read: _Reader
    if isinstance(found, dict) and "Questions" in found:
        rows, read = found["Questions"], _webqsp
    elif isinstance(found, dict) and "questions" in found:
        rows, read = found["questions"], _qald
    elif isinstance(found, list):
        rows, read = found, _of_a_list(found[0] if found else None)
    else:
        raise InputError(f"{file}: no question set that is known: {{'Questions'}}, {{'questions'}} or a list")
    if not isinstance(rows, list):
        raise InputError(f"{file}: its questions are no list")
    return [
        _read(f"{file}: question {number}", {"id": number, **row} if isinstance(row, dict) else row, read)
        for number, row in enumerate(rows, start=1)
    ]


def _of_a_list(first: Any) -> _Reader:  # noqa: ANN401
    """Return the reader for the rows of a list, determined by its first row."""
    keys = first.keys() if isinstance(first, dict) else frozenset[str]()
    known = (read for marks, read in {**_LINES, **_LISTED}.items() if marks <= keys)
    return next(known, _cwq)


def _webqsp(row: dict[str, Any]) -> SuiteQuestion:
    parses = row["Parses"]
    answers = [item.get("EntityName") or item["AnswerArgument"] for parse in parses for item in parse["Answers"]]
    topics = _topics(row) or _each([parse.get("TopicEntityName") or "" for parse in parses])
    asked = row.get("ProcessedQuestion") or row["RawQuestion"]
    return SuiteQuestion(str(row.get("QuestionId") or row["id"]), asked, _each(answers), (), topics)


def _cwq(row: dict[str, Any]) -> SuiteQuestion:
    answers = [item["answer"] for item in row.get("answers", ())] or _answer_list(row.get("answer"))
    return SuiteQuestion(str(row["ID"]), row["question"], _each(answers), (), _topics(row))


def _named(row: dict[str, Any]) -> SuiteQuestion:
    return SuiteQuestion(str(row["id"]), row["question"], _each(_answer_list(row["answer"])), (), _topics(row))


def _rog(row: dict[str, Any]) -> SuiteQuestion:
    return SuiteQuestion(str(row["id"]), row["question"], _each(row["answer"]), (), _each(row["q_entity"]))


def _qald(row: dict[str, Any]) -> SuiteQuestion:
    asked = {item["language"]: item["string"] for item in row["question"] if item.get("string")}
    answers: list[str] = []
    label = ""
    for result in row.get("answers") or ():
        if "boolean" in result:
            label = str(result["boolean"]).lower()
        for binding in result.get("results", {}).get("bindings", ()):
            answers += [local_name(item["value"]) for item in binding.values()]
    text = asked.get(_LANGUAGE) or next(iter(asked.values()))
    return SuiteQuestion(str(row["id"]), text, _each(answers), (), label=label)


def _kilt(row: dict[str, Any]) -> SuiteQuestion:
    subject, separator, relation = (part.strip() for part in row["input"].partition(_SEPARATOR))
    answers = _each([item.get("answer") or "" for item in row.get("output") or ()] or _answer_list(row.get("answer")))
    if not separator:
        return SuiteQuestion(str(row["id"]), row["input"], answers, (), _topics(row))
    worded = row.get("template_questions") or (row.get("meta") or {}).get("template_questions")
    templates = worded or [f"What is the {relation} of {subject}?"]
    return SuiteQuestion(
        str(row["id"]), templates[0], answers, (), _topics(row) or (subject,), slot=f"{subject} {_SEPARATOR} {relation}"
    )


def _creak(row: dict[str, Any]) -> SuiteQuestion:
    topics = _topics(row) or _each([row.get("entity") or ""])
    label = str(row.get("label", "")).lower()
    return SuiteQuestion(str(row.get("ex_id") or row["id"]), row["sentence"], (), (), topics, label)


def _fever(row: dict[str, Any]) -> SuiteQuestion:
    return SuiteQuestion(str(row["id"]), row["claim"], (), (), label=str(row.get("label", "")))


def _topics(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of a question's topics if a mapping from ids to names gives them."""
    found = row.get("topic_entity") or row.get("qid_topic_entity") or {}
    return _each(list(found.values()))


def _answer_list(answer: Any) -> list[Any]:  # noqa: ANN401
    """Return the answers in one field: one, a list, or a mapping from ids to names."""
    if isinstance(answer, dict):
        return list(answer.values())
    return answer if isinstance(answer, list) else [] if answer is None else [answer]


def _each(texts: list[Any]) -> tuple[str, ...]:
    """Return the distinct texts in order, without empty ones."""
    return tuple(dict.fromkeys(str(text).strip() for text in texts if str(text).strip()))


_LINES: dict[frozenset[str], _Reader] = {
    frozenset({"question", "answer", "q_entity"}): _rog,
    frozenset({"input", "output"}): _kilt,
    frozenset({"ex_id", "sentence"}): _creak,
    frozenset({"claim", "label"}): _fever,
}
"""The keys in the first line of a file, and the reader of its lines."""
_LISTED: dict[frozenset[str], _Reader] = {
    frozenset({"RawQuestion", "Parses"}): _webqsp,
    frozenset({"input", "answer"}): _kilt,
    frozenset({"sentence", "label"}): _creak,
    frozenset({"ID", "question"}): _cwq,
    frozenset({"question", "answer"}): _named,
}
"""The same for the rows of a list; CWQ precedes other formats that have a question and an answer."""
