"""Budgeted coverage against its definition, written out in Python."""

import random
from math import log, log2

import numpy as np
from conspectus.pipelines.steps.reports.extractive import most_telling
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.storage.arrays import Rows
from conspectus.storage.records import Chunk, Document
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st

VOCABULARY = "the harbour master keeps ships lists lamps nets ropes and salt".split()
texts_of = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=2, max_size=8), min_size=1, max_size=8)


def made(texts: list[str]) -> Sentences:
    documents = [Document(f"{i:02}", "", "", text, {}, len(text), "") for i, text in enumerate(texts)]
    return sentences_of(
        documents, [Chunk(each.id, each.id, 0, 0, len(each.text), each.text, 1) for each in documents], []
    )


def defined(sentences: Sentences, of_members: list[Rows], count: int, budget: int) -> list[int]:
    costs = sentences.n_tokens + 1
    rows = sorted({int(row) for each in of_members for row in each if sentences.quotable[row]})
    bags = {row: {word.key for word in words(sentences.placed.text(row))} for row in rows}
    everywhere = [
        {word.key for word in words(text)} for text in map(sentences.placed.text, range(len(sentences.placed)))
    ]
    members: dict[object, float] = {
        i: log2(1 + sum(int(row) in rows for row in each)) for i, each in enumerate(of_members)
    }
    found: dict[object, float] = {}
    for word in set().union(*bags.values()):
        standing = sum(word in bag for bag in bags.values())
        if standing > 1:
            found[word] = log2(1 + standing) * log((1 + len(everywhere)) / sum(word in bag for bag in everywhere))
    worth = {
        each: value / 2 / sum(kind.values())
        for kind in (members, found)
        if sum(kind.values())
        for each, value in kind.items()
    }
    tells = {row: bags[row] | {i for i, each in enumerate(of_members) if row in each} for row in rows}
    if rows and min(costs[row] for row in rows) > budget:
        return [min(rows, key=lambda row: costs[row])]
    chosen: list[int] = []
    told: set[object] = set()
    first = 0.0
    while len(chosen) < count:
        gains = {row: sum(worth.get(each, 0.0) for each in tells[row] - told) for row in rows}
        fits = [row for row in rows if costs[row] <= budget]
        rate = {row: round(gains[row] / float(costs[row]) ** 0.3, 9) for row in fits}
        best = min(fits, key=lambda row: (-rate[row], row), default=None)
        if best is None or rate[best] <= 0 or gains[best] < 0.2 * first * (1 - 1e-9):
            break
        first = first or gains[best]
        chosen.append(best)
        told |= tells[best]
        budget -= int(costs[best])
    return chosen


@given(texts_of, st.integers(1, 5), st.integers(1, 60), st.randoms(use_true_random=False))
def test_it_is_what_the_definition_says(bags: list[list[str]], count: int, budget: int, chance: random.Random) -> None:
    sentences = made([" ".join(["X", *bag]) + "." for bag in bags])
    members = [
        np.array([row for row in range(len(bags)) if chance.random() < 0.5], np.int64)
        for _ in range(chance.randint(1, 4))
    ]
    found = most_telling(sentences, members, count, budget)
    assert found == defined(sentences, members, count, budget)
    assert len(found) <= count
    assert len(found) == 1 or sum(sentences.n_tokens[row] + 1 for row in found) <= budget


def test_nothing_is_said_twice_and_no_scrap_is_added() -> None:
    sentences = made(
        [
            "Ada the harbour master keeps the lists of ships.",
            "Ada the harbour master keeps the lists of ships all day.",
            "Bo mends nets and ropes behind the salt house.",
            "Well, nobody really knows.",
        ]
    )
    ada, bo = np.array([0, 1, 3]), np.array([2])
    assert sorted(most_telling(sentences, [ada, bo], 4, 200)) == [0, 2]
