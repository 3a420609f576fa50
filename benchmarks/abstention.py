"""Measure false abstention and false answers of offline global search on answerable and unanswerable questions.

    python -m benchmarks.abstention --suite QMSUM --books BOOK.txt [BOOK.txt ...] [--foreign SUITE ...] [--sweep]

Every meeting of the suite and every book has its own index. Each index is asked:

    own      the suite's questions of the kind `specific` about the meeting (answer)
    topics   "What is said about NAME?" of the index's most frequent names (answer)
    whole    questions about the whole text, none of them in query/global_questions.txt (answer)
    foreign  questions of other suites, and for a book the suite's (do not answer)
    absent   "What is said about NAME?" for names of other indexes that share no word with this one (do not answer)

The indexes are split into two halves (QMSum's even meetings are in the first). With --sweep the table of balanced
accuracy by `LEAST_SUPPORT` and `ABOUT_THE_WHOLE` is printed for the first half, on which
the settings are chosen. Then both halves are printed with the current settings: the second is the check.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus import Index, Settings, build, load_settings
from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite
from conspectus.query.question.scope import ABOUT_THE_WHOLE, LEAST_SUPPORT, closeness_to_whole, corpus_coverage
from conspectus.storage.records import Chunk, Entity
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT

from benchmarks.rows import Rows
from benchmarks.sensemaking import indexes_of

WHOLE = (
    "Summarize the whole meeting.",
    "What was the general discussion?",
    "Give me an overview.",
    "What is this about?",
    "What subjects recur throughout?",
    "Which are the most important points?",
    "Summarise everything in a few sentences.",
    "What should I know about this collection?",
    "How do the different parts relate to each other?",
    "What are the key takeaways?",
    "Describe the major events.",
    "Which topics come up most often?",
    "Who plays a leading role?",
    "What conclusions are reached?",
)
KINDS = {"own": True, "topics": True, "whole": True, "foreign": False, "absent": False}
"""Kinds of questions, and whether they should be answered."""
NAMES = 12


@dataclass(frozen=True)
class Asked:
    """A question asked of an index, and what is known of it without an answer."""

    kind: str
    support: float
    closeness: float


def asked(index: Index, questions: Mapping[str, Sequence[str]]) -> Iterator[Asked]:
    """Yield the questions of each kind, measured."""
    for kind, texts in questions.items():
        for text in texts:
            yield Asked(kind, corpus_coverage(index.context, text), closeness_to_whole(index.context, text))


def questions_to(
    index: Index, others: Iterable[Index], own: Sequence[str], foreign: Sequence[str]
) -> dict[str, list[str]]:
    """Return the questions that an index is asked, by kind."""
    here = {word.key for chunk in index.context.index.rows(Chunk) for word in words(chunk.text)}
    there = [name for other in others for name in names_of(other) if not here & {word.key for word in words(name)}]
    absent = random.Random(7).sample(sorted(set(there)), min(NAMES, len(set(there))))
    return {
        "own": list(own),
        "topics": [f"What is said about {name}?" for name in names_of(index)[:NAMES]],
        "whole": list(WHOLE),
        "foreign": list(foreign),
        "absent": [f"What is said about {name}?" for name in absent],
    }


def names_of(index: Index) -> list[str]:
    """Return the names of an index, the most frequent first."""
    named = [
        entity for entity in index.context.index.rows(Entity) if entity.type != CONCEPT and entity.name[:1].isupper()
    ]
    found = sorted(named, key=lambda item: (-item.frequency, item.name))
    return [result.name for result in found if len(result.name) > 3][: 3 * NAMES]


def share(rows: Sequence[Asked], kind: str, least: float, whole: float) -> float:
    """Return the share of a kind that is answered."""
    of = [row for row in rows if row.kind == kind]
    return sum(item.support >= least or item.closeness >= whole for item in of) / max(1, len(of))


def balanced(rows: Sequence[Asked], least: float, whole: float) -> float:
    """Return the mean of two shares: answerable questions answered, and unanswerable questions declined."""
    right: defaultdict[bool, list[float]] = defaultdict(list)
    for kind, answered in KINDS.items():
        if any(row.kind == kind for row in rows):
            given = share(rows, kind, least, whole)
            right[answered].append(given if answered else 1 - given)
    return sum(sum(value) / len(value) for value in right.values()) / 2


def sweep(rows: Sequence[Asked]) -> Iterator[str]:
    """Yield the lines of the table on which the settings are chosen."""
    wholes = [0.38, 0.40, 0.42, 0.44, 0.46, 0.50]
    yield "balanced accuracy, first half: least_support down, about_the_whole across"
    yield " " * 6 + "".join(f"{whole:8.2f}" for whole in wholes)
    for least in (0.28, 0.32, 0.36, 0.38, 0.40, 0.42, 0.44, 0.48, 0.52):
        yield f"{least:6.2f}" + "".join(f"{balanced(rows, least, whole):8.3f}" for whole in wholes)


def indexes(suite: Suite, books: Sequence[Path], settings: Settings) -> dict[str, Index]:
    """Return the indexes by the id of their meeting or the name of their book."""
    meetings = {question.supporting[0] for question in suite.questions if len(question.supporting) == 1}
    found = indexes_of(suite, settings, meetings, together=False)
    return found | {book.stem: build(book, Path(".conspectus", "books", book.stem), settings) for book in books}


def some(questions: Sequence[SuiteQuestion], chance: random.Random) -> list[str]:
    """Return up to 15 of the questions."""
    return [item.question for item in chance.sample(questions, min(15, len(questions)))]


def main() -> None:
    """Build missing indexes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, required=True)
    parser.add_argument("--books", type=Path, nargs="+", default=[])
    parser.add_argument("--foreign", type=Path, nargs="+", default=[])
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--json", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    settings = load_settings(Path("settings.yaml") if Path("settings.yaml").is_file() else None)
    suite, books = read_suite(options.suite), {book.stem for book in options.books}
    chance = random.Random(7)
    foreign = [item for folder in options.foreign for item in some(read_suite(folder).questions, chance)]
    kind_of = {row["id"]: row.get("kind") for _, row in rows_of(options.suite / "questions.jsonl")}
    specific = [question for question in suite.questions if kind_of[question.id] == "specific"]
    of_suite = some(specific, chance)
    found_indexes = indexes(suite, options.books, settings)
    order = sorted(books) + sorted(set(found_indexes) - books, key=lambda name: (len(name), name))
    halves: tuple[list[Asked], list[Asked]] = ([], [])
    for place, name in enumerate(order):
        index, is_book = found_indexes[name], name in books
        others = [found_indexes[item] for item in order if item != name and (is_book or item in books)]
        own = [item.question for item in specific if item.supporting == (name,)]
        questions = questions_to(index, others, own, [*foreign, *of_suite] if is_book else foreign)
        halves[place % 2].extend(asked(index, questions))
    if options.sweep:
        print("\n".join(sweep(halves[0])))
    least, whole = LEAST_SUPPORT, ABOUT_THE_WHOLE
    print(f"answered at least_support {least}, about_the_whole {whole}")
    table = Rows(options.json)
    for label, rows in zip(("first, chosen on", "second, held out"), halves, strict=True):
        shares = {kind: round(share(rows, kind, least, whole), 3) for kind in KINDS}
        table.add({"half": label, **shares, "balanced": round(balanced(rows, least, whole), 3), "asked": len(rows)})


if __name__ == "__main__":
    main()
