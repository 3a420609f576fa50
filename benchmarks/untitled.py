"""Retrieval over untitled texts: a question set with its titles removed, and two novels.

    python benchmarks/untitled.py --suite SUITE [--suite SUITE ...] [--books FOLDER]

A suite is indexed with every title empty (its own files are not changed) and measured by documents. The folder of
books contains alice_in_wonderland.txt and wizard_of_oz.txt of Project Gutenberg; the 30 questions of
benchmarks/data/books_questions.jsonl name the places in these books that answer them, and a place counts as found if
one of the first chunks contains its words. They were written by one person before any method had seen them.
"""

import argparse
import asyncio
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conspectus import Index, build, load_settings
from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.pipelines.evaluation.metrics import bootstrap, rank_documents, recall_at
from conspectus.query.menu import COMPARED, find_retriever
from conspectus.query.types import Passage

RANKS = (2, 5, 20)
KEPT = Path(".conspectus") / "untitled"
QUESTIONS = Path(__file__).parent / "data" / "books_questions.jsonl"
Asked = tuple[str, tuple[str, ...]]
"""A question, and what must be found: ids of documents, or quotations."""


def main() -> None:
    """Print a table for each corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", type=Path, default=[])
    parser.add_argument("--books", type=Path)
    options = parser.parse_args()
    for folder in options.suite:
        index = build(untitled(folder), KEPT / f"{folder.resolve().name}.index", load_settings())
        rows = [row for _, row in rows_of(folder / "questions.jsonl") if row["supporting"]]
        table(f"{folder.name}, titles taken away", index, [(row["question"], tuple(row["supporting"])) for row in rows])
    if options.books:
        index = build(sorted(options.books.glob("*.txt")), KEPT / "books.index", load_settings())
        asked = [(row["question"], quotations(row["evidence"], options.books)) for _, row in rows_of(QUESTIONS)]
        table("novels", index, asked)


def quotations(evidence: Sequence[dict[str, Any]], books: Path) -> tuple[str, ...]:
    """Return the words at places of books; offsets count every run of white space as one blank.

    Raises ValueError if a book has other words there: it is another edition.
    """
    found = []
    for place in evidence:
        text = re.sub(r"\s+", " ", (books / place["book"]).read_text("utf-8"))
        words = text[place["start"] : place["end"]]
        if hashlib.sha256(words.encode()).hexdigest()[:16] != place["sha256"]:
            raise ValueError(f"{place['book']} has other words at {place['start']}")
        found.append(words)
    return tuple(found)


def untitled(folder: Path) -> Path:
    """Write the suite's corpus without titles and return it."""
    target = KEPT / f"{folder.resolve().name}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = ({**row, "title": ""} for _, row in rows_of(folder / "corpus.jsonl"))
    target.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return target


def table(name: str, index: Index, asked: Sequence[Asked]) -> None:
    """Print the recall of every method at every rank, with intervals."""
    print(f"{name}: {len(asked)} questions")
    for method in COMPARED:
        retriever = find_retriever(method, index.context)
        found = [asyncio.run(retriever.retrieve(question, 4 * RANKS[-1])).passages for question, _ in asked]
        cells = []
        for k in RANKS:
            each = bootstrap([share(k, passages, wanted) for passages, (_, wanted) in zip(found, asked, strict=True)])
            cells.append(f"recall@{k} {each.mean:.3f} [{each.low:.3f}, {each.high:.3f}]")
        print(f"  {method:7} {'   '.join(cells)}", flush=True)


def share(k: int, passages: Sequence[Passage], wanted: tuple[str, ...]) -> float:
    """Return the share of the wanted documents, or quotations, found in the first `k` documents, or chunks."""
    documents = rank_documents([passage.document_id for passage in passages])
    if not any(" " in item for item in wanted):
        return recall_at(k, documents, wanted)
    texts = list(plain(passages[:k]))
    return sum(any(quotation in text for text in texts) for quotation in wanted) / len(wanted)


def plain(passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the texts with every run of white space as one blank, as the quotations have it."""
    return (re.sub(r"\s+", " ", passage.text) for passage in passages)


if __name__ == "__main__":
    main()
