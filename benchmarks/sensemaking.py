"""Cost and quality of answering from community reports, compared with answering from all the text.

    python -m benchmarks.sensemaking --books BOOK.txt [BOOK.txt ...] --suite QMSUM [--questions 60] [--together]
        [--methods lazy,global,local,ppr]

Conditions, unless --methods names others: the reports of the levels c0 to c3 and of a walk down (global:dynamic), all
passages (ts), the nearest passages that fit into one call (ss). The books' table shows the units and tokens that one
question about the whole text needs. The suite's table also compares answers with the accepted ones; `known` is the
share of questions answered, and unanswered ones score 0. A question of the suite is asked of the index of its own
supporting document (a meeting is summarised by itself), or with --together of one index of all. Without a model, the
`:offline` fallbacks answer; if settings.yaml or the environment names a model, it answers (each condition and question
makes the calls of a global search).
"""

import argparse
import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from conspectus import Index, Settings, build, load_settings
from conspectus.pipelines.evaluation.evaluate import context_size, quality
from conspectus.pipelines.evaluation.metrics import bootstrap
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite, suite_index

from benchmarks.rows import Row, Rows

CONDITIONS = ("global:c0", "global:c1", "global:c2", "global:c3", "global:dynamic", "ts", "ss")
WHOLE = "What are the main themes of the book?"
MEASURES = ("rougeL", "coverage", "coverage_words")


def book_table(book: Path, settings: Settings, conditions: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a book's table."""
    index = build(book, Path(".conspectus", "books", book.stem), settings)
    sizes = {name: context_size(index.ask(WHOLE, name)) for name in conditions}
    yield f"{book.stem}: {WHOLE}"
    yield f"{'condition':16}{'units':>8}{'context tokens':>17}{'fewer than ts':>15}"
    for name, size in sizes.items():
        units, tokens = size.get("units", 0.0), size.get("context_tokens", 0.0)
        fewer = f"{1 - tokens / sizes['ts']['context_tokens']:15.1%}" if "ts" in sizes else f"{'-':>15}"
        yield f"{name:16}{units:8,.0f}{tokens:17,.0f}{fewer}"


def indexes_of(suite: Suite, settings: Settings, wanted: set[str], together: bool) -> dict[str, Index]:
    """Return by document id the index that is asked its questions."""
    place = suite_index(suite, settings)
    if together:
        return dict.fromkeys(wanted, build(suite.corpus, place, settings))
    folder = place.with_name(f"{place.name}-apart")
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    found = {}
    for line in suite.corpus.read_text("utf-8").splitlines():
        id_ = json.loads(line)["id"]
        if id_ in wanted:
            document = folder / "documents" / f"{id_}.jsonl"
            document.write_text(line + "\n", "utf-8")
            found[id_] = build(document, folder / id_, settings)
    return found


def suite_rows(suite: Suite, settings: Settings, conditions: Sequence[str], most: int, together: bool) -> Iterator[Row]:
    """Yield the rows of a suite's table: means, with bootstrap 95 % intervals of the measures."""
    able = [question for question in suite.questions if question.answers and len(question.supporting) == 1]
    questions = random.Random(7).sample(able, min(most or len(able), len(able)))
    indexes = indexes_of(suite, settings, {question.supporting[0] for question in questions}, together)
    for name in conditions:
        values = asyncio.run(measured(name, questions, indexes))
        means = {
            metric: sum(values[metric]) / len(questions) for metric in ("units", "context_tokens", "known", "seconds")
        }
        yield {"condition": name, **means, **{measure: asdict(bootstrap(values[measure])) for measure in MEASURES}}


async def measured(name: str, questions: Sequence[SuiteQuestion], indexes: dict[str, Index]) -> dict[str, list[float]]:
    """Return the values of one condition by metric, one per question."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for question in questions:
        index = indexes[question.supporting[0]]
        start = time.perf_counter()
        answer = await index.aio.ask(question.question, name)
        seconds = time.perf_counter() - start
        row = {"units": 0.0, "context_tokens": 0.0, **context_size(answer), "known": float(answer.known)}
        row["seconds"] = seconds
        row |= quality(answer.text if answer.known else "", question, index.context)
        for metric, value in row.items():
            values[metric].append(value)
    return dict(values)


def main() -> None:
    """Build missing indexes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=Path, nargs="+", default=[])
    parser.add_argument("--suite", type=Path)
    parser.add_argument("--questions", type=int, default=60, help="how many of the suite's are asked; 0: all")
    parser.add_argument("--together", action="store_true", help="one index of the whole suite")
    parser.add_argument("--methods", default=",".join(CONDITIONS))
    parser.add_argument("--json", type=Path, help="also write the suite's table to this file")
    options = parser.parse_args()
    conditions = options.methods.split(",")
    settings = load_settings(Path("settings.yaml") if Path("settings.yaml").is_file() else None)
    for book in options.books:
        for line in book_table(book, settings, conditions):
            print(line, flush=True)
        print()
    if options.suite:
        suite = read_suite(options.suite)
        table = Rows(options.json)
        for row in suite_rows(suite, settings, conditions, options.questions, options.together):
            table.add(row)


if __name__ == "__main__":
    main()
