"""Measure how often methods answer answerable questions and abstain from unanswerable ones.

    python -m benchmarks.answers SUITE SUITE [SUITE ...] [--questions 60]

Every suite's questions are asked of every suite's index. Over its own documents a question has an answer; over
another suite's it has none (except by chance). The output shows the share answered and, over a suite's own documents,
the share whose quoted sentences contain an accepted answer, next to the share whose best five passages contain it (the
upper bound for reading).
"""

import argparse
import random
from pathlib import Path

from conspectus import Index, build, load_settings
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite, suite_index

from benchmarks.rows import Row, Rows


def sampled(suite: Suite, count: int) -> list[SuiteQuestion]:
    """Return a seeded sample of the questions."""
    return random.Random(7).sample(suite.questions, min(count, len(suite.questions)))


def holds(text: str, question: SuiteQuestion) -> bool:
    """Return whether a text contains one of the accepted answers."""
    return any(answer.casefold() in text.casefold() for answer in question.answers)


def row(asked: Suite, over: Suite, index: Index, count: int) -> Row:
    """Ask one suite's questions of another's index and return the table's row."""
    questions = sampled(asked, count)
    answers = [index.ask(question.question, "ppr") for question in questions]
    answered = sum(answer.known for answer in answers) / len(answers)
    found: Row = {"questions": asked.name, "documents": over.name, "asked": len(questions), "answered": answered}
    if asked.name != over.name:
        return found
    pairs = [
        (question, answer)
        for question, answer in zip(questions, answers, strict=True)
        if question.answers and question.answers[0].casefold() not in {"yes", "no"}
    ]
    quoted = sum(holds(answer.text, question) for question, answer in pairs) / len(pairs)
    reachable = sum(
        any(holds(f"{passage.title} {passage.text}", question) for passage in answer.evidence.passages)
        for question, answer in pairs
    ) / len(pairs)
    return {**found, "quoted": quoted, "reachable": reachable}


def main() -> None:
    """Build the suites' indexes where needed and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    settings = load_settings()
    suites = [read_suite(suite) for suite in options.suites]
    rows = Rows(options.json)
    for over in suites:
        index = build(over.corpus, suite_index(over, settings), settings)
        for asked in suites:
            rows.add(row(asked, over, index, options.questions))


if __name__ == "__main__":
    main()
