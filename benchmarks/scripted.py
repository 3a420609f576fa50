"""Check that exact match measures a model's answers: 1 where a scripted model is right, 0 where it is wrong.

    python -m benchmarks.scripted SUITE [SUITE ...] [--methods bm25,ppr,ircot] [--questions 40] [--json OUT]

A fake server plays the reader of `conspectus evaluate --answers`: it thinks and cites, then gives an accepted answer,
or for one question of five another one, in the manner of each family of models (`--habits` of the fake server).
Anything between 1 and 0 would be an answer that was heard wrongly. The indexes are made by regular expressions and with
made-up vectors, since the script is right whatever is found; questions are a seeded sample.
"""

import argparse
import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from conspectus import load_settings
from conspectus.building import evaluate
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite, sampled

from benchmarks.fake_server import FakeRequest, FakeServer
from benchmarks.fake_server.habits import HABITS, Habits, spoken

WRONG = "the other Zwischenahn"
"""In no accepted answer."""
_WRONG_ONE_IN = 5


def is_right(question: SuiteQuestion) -> bool:
    """Return whether the script answers a question rightly."""
    return random.Random(question.id).randrange(_WRONG_ONE_IN) > 0


class Script:
    """The replies to all questions, by the question that a prompt contains."""

    def __init__(self, suite: Suite, habits: str) -> None:
        self._suite = suite
        self._habits: Habits = habits  # type: ignore[assignment]

    def __call__(self, request: FakeRequest) -> str:
        """Return the reply to a request of the reader, or a concluding thought for `ircot`."""
        question = next(each for each in self._suite.questions if each.question in request.prompt)
        gold = question.answers[0] if is_right(question) else WRONG
        dice = random.Random(request.digest)
        if "Answer:" not in request.prompt:
            return spoken(f"So the answer is: {gold}.", "line", self._habits, dice)
        thoughts = "The first passage names what is meant [1]. Another says what is asked of it [2][3]."
        return spoken(f"{thoughts}\nAnswer: {gold}", "cited", self._habits, dice)


def measured(suite: Suite, place: Path, habits: str, options: argparse.Namespace) -> Mapping[str, dict[str, float]]:
    """Return the mean exact match by method, over the questions that are answered rightly and wrongly."""
    with FakeServer(Script(suite, habits)) as server:
        settings = load_settings(
            overrides={
                "llm": {"model": habits, "base_url": server.url},
                "extraction": {"method": "nlp", "pipeline": "regex"},
                "embedding": {"provider": "endpoint", "model": "e"},
                "embedding_server": {"base_url": server.url},
            }
        )
        index, methods = options.indexes / suite.name, options.methods.split(",")
        result = evaluate(
            place, methods, k=(5,), answers=True, questions=options.questions, index=index, settings=settings
        )
    found: dict[str, dict[str, float]] = {}
    for method, scores in result["methods"].items():
        rows = {row["id"]: row["metrics"]["exact_match"] for row in scores["answers"]}
        right = [rows[each.id] for each in suite.questions if is_right(each)]
        wrong = [rows[each.id] for each in suite.questions if not is_right(each)]
        found[method] = {"right": sum(right) / len(right), "n_right": len(right), "n_wrong": len(wrong)}
        found[method]["wrong"] = sum(wrong) / len(wrong) if wrong else 0.0
    return found


def main() -> None:
    """Print exact match for each suite, family and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", type=Path)
    parser.add_argument("--methods", default="bm25,ppr,ircot")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--indexes", type=Path, default=Path(".conspectus/scripted"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{'suite':12} {'habits':8} {'method':8} {'right':>6} {'exact match':>12} {'wrong':>6} {'exact match':>12}")
    rows = []
    for place in options.suites:
        drawn = sampled(read_suite(place), options.questions)
        suite = replace(drawn, questions=tuple(each for each in drawn.questions if each.answers))
        for habits in HABITS:
            for method, one in measured(suite, place, habits, options).items():
                print(
                    f"{suite.name:12} {habits:8} {method:8} {one['n_right']:6.0f} {one['right']:12.3f}"
                    f" {one['n_wrong']:6.0f} {one['wrong']:12.3f}",
                    flush=True,
                )
                rows.append({"suite": suite.name, "habits": habits, "method": method, **one})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
