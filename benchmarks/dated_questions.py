"""Questions with a time in them: the paragraph with the answer, found with and without the order in time.

    python -m benchmarks.dated_questions SUITE INDEX [--every N] [--answers]

SUITE is a question set whose questions name the paragraphs of their document that answer (`paragraphs`: numbers of
texts between blank lines), INDEX an index of its corpus.jsonl. The weight is chosen on each half of the documents and
measured on the other.
"""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import conspectus
import numpy as np
from conspectus.query.question import times
from conspectus.query.types import Passage
from conspectus.storage.records import Document

METHODS = ("bm25", "dense", "hybrid", "ppr")
WEIGHTS = (0, 1, 2, 3, 4, 5, 7, 10, 20, 50)
_SEED = 7


def main() -> None:
    """Print what is found, for all questions with a time, and by kind of time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--answers", action="store_true")
    given = parser.parse_args()
    times.nearness = lru_cache(100_000)(times.nearness)  # the weights are tried on the same passages
    index = conspectus.open(given.index)
    texts = {document.id: document.text for document in index.context.index.rows(Document)}
    lines = (given.suite / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line) for line in lines[:: given.every]]
    asked = [each for each in asked if times.time_in(each["question"])]
    answerable = [each for each in asked if each["answers"]]
    print(f"{len(answerable)} questions with an answer and a time, {len(asked) - len(answerable)} without an answer")
    if given.answers:
        answers(index, asked)
    else:
        passages(index, answerable, lambda one, each: holds(one, each, texts))


def passages(
    index: conspectus.Index, asked: Sequence[dict[str, Any]], right: Callable[[Passage, dict[str, Any]], bool]
) -> None:
    """Print the recall of the paragraph and of its document, and what each half chooses."""
    halves = dict(zip(*halves_of({each["supporting"][0] for each in asked}), strict=True))
    half = np.array([halves[each["supporting"][0]] for each in asked])
    first: dict[int, list[list[bool]]] = {weight: [] for weight in WEIGHTS}
    for method in METHODS:
        found: dict[int, list[tuple[Passage, ...]]] = {}
        chosen = times.TIME_WEIGHT
        for weight in (0, chosen):
            times.TIME_WEIGHT = weight
            found[weight] = [index.retrieve(each["question"], method, k=times.LEADING).passages for each in asked]
            rows = list(zip(found[weight], asked, strict=True))
            kinds = np.array([kind_of(each["question"]) for each in asked])
            at_1 = np.array([right(some[0], each) for some, each in rows])
            at_5 = np.array([any(right(one, each) for one in some[:5]) for some, each in rows])
            page = np.array([some[0].document_id in each["supporting"] for some, each in rows])
            told = ", ".join(
                f"{kind} {at_1[kinds == kind].mean():.3f} ({(kinds == kind).sum()})" for kind in sorted({*kinds})
            )
            print(
                f"{method} {weight}: paragraph {at_1.mean():.3f} {at_5.mean():.3f}, document {page.mean():.3f}; {told}"
            )
        if method != "hybrid":  # it only fuses
            for weight in WEIGHTS:
                times.TIME_WEIGHT = weight
                first[weight].append(
                    [right(best(index, some, each), each) for some, each in zip(found[0], asked, strict=True)]
                )
        times.TIME_WEIGHT = chosen
    for one in (0, 1):
        scores = {weight: float(np.mean(np.array(hits)[:, half == one])) for weight, hits in first.items()}
        best_weight = max(WEIGHTS, key=lambda weight: (scores[weight], -weight))
        other = [float(np.mean(np.array(first[weight])[:, half != one])) for weight in (0, best_weight)]
        print(f"half {one} chooses {best_weight}; paragraph on the other half {other[0]:.3f}, with it {other[1]:.3f}")


def best(index: conspectus.Index, some: Sequence[Passage], each: dict[str, Any]) -> Passage:
    """Return the first of some passages after they are ordered in time."""
    rows = np.array([index.context.chunk_rows[one.chunk_id] for one in some], np.int64)
    return some[int(times.in_time(index.context, times.time_in(each["question"]), rows)[0])]


def answers(index: conspectus.Index, asked: Sequence[dict[str, Any]]) -> None:
    """Print how often the words of an accepted answer are in the answer of `auto`, and how often it declines."""
    chosen = times.TIME_WEIGHT
    for weight in (0, chosen):
        times.TIME_WEIGHT = weight
        told = [(each, index.ask(each["question"], "auto")) for each in asked]
        known = [answer.known and contains(answer.text, each["answers"]) for each, answer in told if each["answers"]]
        quoted = [
            answer.known and contains(answer.citations[0].quote if answer.citations else "", each["answers"])
            for each, answer in told
            if each["answers"]
        ]
        declined = [not answer.known for each, answer in told if not each["answers"]]
        wrongly = [not answer.known for each, answer in told if each["answers"]]
        print(
            f"auto {weight}: in the answer {np.mean(known):.3f}, in its first quote {np.mean(quoted):.3f}, declined: "
            f"unanswerable {np.mean(declined):.3f}, answerable {np.mean(wrongly):.3f}"
        )
    times.TIME_WEIGHT = chosen


def holds(passage: Passage, each: dict[str, Any], texts: dict[str, str]) -> bool:
    """Return whether a passage has at least half of a paragraph that answers."""
    if passage.document_id not in each["supporting"]:
        return False
    at, spans = 0, []
    for part in texts[passage.document_id].split("\n\n"):
        spans.append((at, at + len(part)))
        at += len(part) + 2
    ends = (spans[number] for number in each["paragraphs"])
    return any(min(end, passage.end) - max(start, passage.start) >= (end - start) / 2 for start, end in ends)


def kind_of(question: str) -> str:
    """Return the form of the time in a question: an interval, what is before or after a day, or a single time."""
    time = times.time_in(question)
    assert time
    if time.first is None or time.last is None:
        return "before or after"
    return "in" if time.is_moment else "from to"


def halves_of(documents: set[str]) -> tuple[list[str], list[int]]:
    """Return documents, and for each the half that it belongs to."""
    order = np.random.default_rng(_SEED).permutation(sorted(documents)).tolist()
    return order, [place % 2 for place in range(len(order))]


def contains(text: str, accepted: Sequence[str]) -> bool:
    """Return whether a text has the words of an accepted answer, in order."""
    words = f" {plain(text)} "
    return any(f" {plain(each)} " in words for each in accepted)


def plain(text: str) -> str:
    """Return the words of a text in small letters."""
    return " ".join(re.findall(r"\w+", text.casefold()))


if __name__ == "__main__":
    main()
