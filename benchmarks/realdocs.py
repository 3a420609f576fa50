"""Measure retrieval, answers and abstention on collections of real documents.

    python -m benchmarks.realdocs FOLDER [--methods bm25,dense,hybrid,ppr,auto] [--only NAME,...] [--json OUT] [--show]

FOLDER contains a folder for each collection, with `documents/` and `questions.jsonl`: rows with `question`, `answers`
(accepted strings) and `evidence` (sentences of the documents); a question without evidence cannot be answered.

Measured for each collection and method, and over all questions:

    evidence_recall@5     share of the evidence sentences found in the first five passages, if the method ranks passages
    accepted              share of the answerable questions whose answer contains one of the accepted strings
    complete              ... all of the accepted strings
    declined@unanswerable share of the unanswerable questions that are declined (1 is best)
    declined@answerable   share of the answerable questions that are declined (0 is best)
    seconds               wall-clock time of an answer, mean

Indexes are stored below --indexes and updated if settings or documents changed. With --no-answers only
retrieval is measured; --show prints every answer.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus import Index, build, load_settings
from conspectus.api import open_index
from conspectus.query.menu import find_method
from conspectus.query.types import Answer, Passage

CUT = 5
"""Passages in which evidence is sought."""
COVERED = 0.8
"""A sentence cut by a passage boundary counts if passages of one document contain this share of its word triples."""


@dataclass(frozen=True)
class Asked:
    """A question of a collection."""

    id: str
    question: str
    kind: str
    answers: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The result of one method on one question; values not measured are None."""

    recall: float | None
    accepted: float | None
    complete: float | None
    declined: float | None
    answerable: bool
    seconds: float


def read_questions(path: Path) -> list[Asked]:
    """Read the questions of a collection."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Asked(row["id"], row["question"], row.get("kind", ""), tuple(row["answers"]), tuple(row["evidence"]))
        for row in rows
    ]


def words_of(text: str) -> list[str]:
    """Return the words of a text, lower case, without punctuation and markup."""
    return "".join(letter if letter.isalnum() else " " for letter in text.casefold()).split()


def found(evidence: str, passages: Sequence[Passage]) -> bool:
    """Return whether passages contain a sentence, whole or nearly so within one document."""
    wanted = words_of(evidence)
    texts: dict[str, list[list[str]]] = {}
    for passage in passages:
        texts.setdefault(passage.document_id, []).append(words_of(passage.text))
    run = " ".join(wanted)
    if any(f" {run} " in f" {' '.join(words)} " for parts in texts.values() for words in parts):
        return True
    triples = set(zip(wanted, wanted[1:], wanted[2:], strict=False))
    if not triples:
        return False
    return any(
        len(triples & {each for words in parts for each in zip(words, words[1:], words[2:], strict=False)})
        >= COVERED * len(triples)
        for parts in texts.values()
    )


def squeezed(text: str) -> str:
    """Return a text without case and white space."""
    return "".join(text.casefold().split())


def measure(index: Index, question: Asked, method: str, answers: bool) -> tuple[Row, Answer | None]:
    """Ask one method one question."""
    recall = accepted = complete = declined = None
    if question.evidence and find_method(method).retrieves:
        passages = index.retrieve(question.question, method, CUT).passages
        recall = sum(found(each, passages) for each in question.evidence) / len(question.evidence)
    answer, seconds = None, 0.0
    if answers:
        start = time.perf_counter()
        answer = index.ask(question.question, method)
        seconds = time.perf_counter() - start
        declined = float(not answer.known)
        if question.answers:
            text = squeezed(f"{answer.text} {answer.span}") if answer.known else ""
            holds = [squeezed(each) in text for each in question.answers]
            accepted, complete = float(any(holds)), float(all(holds))
    return Row(recall, accepted, complete, declined, bool(question.answers), seconds), answer


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the measured values; None if there are none."""
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def summary(rows: Sequence[Row]) -> dict[str, float | None]:
    """Return the figures of some questions."""
    return {
        "evidence_recall@5": mean([row.recall for row in rows]),
        "accepted": mean([row.accepted for row in rows]),
        "complete": mean([row.complete for row in rows]),
        "declined@unanswerable": mean([row.declined for row in rows if not row.answerable]),
        "declined@answerable": mean([row.declined for row in rows if row.answerable]),
        "seconds": mean([row.seconds for row in rows]),
        "questions": len(rows),
    }


def main() -> None:
    """Build or update the indexes, ask the questions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", default="bm25,dense,hybrid,ppr,auto")
    parser.add_argument("--only", default="", help="names of collections")
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/realdocs"))
    parser.add_argument("--as-they-are", action="store_true", help="use the indexes without looking at the documents")
    parser.add_argument("--no-answers", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    settings = load_settings()
    methods = options.methods.split(",")
    chosen = [name for name in options.only.split(",") if name]
    collections = [
        path.parent
        for path in sorted(options.folder.glob("*/questions.jsonl"))
        if not chosen or path.parent.name in chosen
    ]
    gathered: dict[str, list[Row]] = {method: [] for method in methods}
    result: dict[str, dict[str, dict[str, float | None]]] = {}
    print("collection  method      R@5  accepted  complete  declined: unanswerable  answerable  seconds")
    for collection in collections:
        folder = options.indexes / f"{collection.name}.index"
        index = (
            open_index(folder, settings) if options.as_they_are else build([collection / "documents"], folder, settings)
        )
        result[collection.name] = {}
        for method in methods:
            rows: list[Row] = []
            for question in read_questions(collection / "questions.jsonl"):
                row, answer = measure(index, question, method, not options.no_answers)
                rows.append(row)
                if options.show:
                    print(f"\n{question.id} [{question.kind}] {question.question}  {question.answers}")
                    print(f"  recall {row.recall}, accepted {row.accepted}, declined {row.declined}")
                    if answer:
                        short = f"  In short: {answer.span}\n" if answer.span else ""
                        print(short + "  " + answer.text.replace("\n", "\n  "))
            gathered[method] += rows
            result[collection.name][method] = summary(rows)
            print_row(collection.name, method, result[collection.name][method])
    result["all"] = {method: summary(rows) for method, rows in gathered.items()}
    for method in methods:
        print_row("all", method, result["all"][method])
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def print_row(name: str, method: str, figures: dict[str, float | None]) -> None:
    """Print a row of the table."""
    keys = ("evidence_recall@5", "accepted", "complete", "declined@unanswerable", "declined@answerable", "seconds")
    cells = ["   -" if figures[key] is None else f"{figures[key]:.2f}" for key in keys]
    print(
        f"{name:10}  {method:8}  {cells[0]:>5}  {cells[1]:>8}  {cells[2]:>8}  {cells[3]:>22}  {cells[4]:>10}  "
        f"{cells[5]:>7}",
        flush=True,
    )


if __name__ == "__main__":
    main()
