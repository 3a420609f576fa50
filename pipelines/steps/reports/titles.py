"""Titles of communities: the heading above most of a community's sentences, and the names that distinguish it.

A name distinguishes a community if it often occurs together with other members and seldom elsewhere. That is tf-idf
(Sparck Jones 1972) with the number of sentences in which a name meets another member as term frequency, and the number
of all sentences that name it as document frequency. The best connected names alone do not work: they are those of the
whole corpus.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import regex
from conspectus.pipelines.steps.sentences import SentenceIndex
from conspectus.storage.arrays import Rows
from conspectus.storage.records import Document, Entity, Place
from conspectus.storage.text.identifiers import FILE
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.nlp import CONCEPT

NAMES_IN_TITLE = 3
_SHARE_UNDER_HEADING = 0.6
"""Least share of a community's sentences under one heading for this heading to be the title."""
_MOST_CHARACTERS = 60
_LONG_NAME = 30
"""Characters above which a title avoids a name; it avoids paths and dates too."""
_POOR = frozenset({FILE, "DATE"})
_LETTERS = regex.compile(r"\p{L}{2}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_NUMBER = regex.compile(r"^[\p{N}.\s–—-]+|[\s.]+\p{N}+$")


class Titles:
    """Makes the titles of one corpus's communities."""

    def __init__(self, documents: Sequence[Document], sentences: SentenceIndex) -> None:
        self._sentences = sentences
        self._headings: dict[str, tuple[list[int], list[Place]]] = {}
        for document in documents:
            places = [place for place in document.places if place.kind == "heading" and _LETTERS.search(place.label)]
            if places:
                self._headings[document.id] = [place.start for place in places], places

    def of(self, members: Sequence[Entity], rows_of: Sequence[Rows]) -> str:
        """Return a title of a community, given the sentences of each member.

        It has a letter if any member's name has one.
        """
        names = self.telling(members, rows_of)
        heading = self._heading(rows_of) if self._headings else ""
        told = ", ".join(name for name in names if name.casefold() not in heading.casefold())
        return f"{heading}: {told}" if heading and told else heading or told

    def telling(self, members: Sequence[Entity], rows_of: Sequence[Rows]) -> list[str]:
        """Return the names that distinguish a community, the best first, given the sentences of each member."""
        sizes = [len(rows) for rows in rows_of]
        _, place, counts = np.unique(np.concatenate([_NO_ROWS, *rows_of]), return_inverse=True, return_counts=True)
        together = np.bincount(np.repeat(np.arange(len(members)), sizes), counts[place] > 1, len(members)).tolist()
        # The next power of two, so that one more sentence does not change all titles.
        n_sentences = 1 << len(self._sentences).bit_length()

        def key(number: int) -> tuple[float, bool, str, str]:
            each = members[number]
            worth = log(1.5 + together[number]) * log((1 + n_sentences) / (1 + sizes[number]))
            worth *= 1 if len(each.name) <= _LONG_NAME and each.type not in _POOR else 0.5
            small = each.type == CONCEPT or each.name[:1].islower()
            return (-round(worth, 9), small, each.name, each.id)

        every = [members[number].name for number in sorted(range(len(members)), key=key)]
        chosen: list[str] = []
        for name in [name for name in every if _LETTERS.search(name)] or every:
            if not any(_says(name, other) for other in chosen):
                chosen.append(name)
            if len(chosen) == NAMES_IN_TITLE:
                break
        return chosen

    def _heading(self, rows_of: Sequence[Rows]) -> str:
        """Return the deepest heading above enough of the sentences; "" if there is none."""
        rows = np.unique(np.concatenate([_NO_ROWS, *rows_of]))
        found: Counter[tuple[str, int]] = Counter()
        labels: dict[tuple[str, int], str] = {}
        for row in rows.tolist():
            span = self._sentences.span(row)
            starts, places = self._headings.get(span.document_id, _NO_HEADINGS)
            at = bisect_right(starts, span.start) - 1
            level = places[at].level + 1 if at >= 0 else 0
            while at >= 0 and level > 1:  # upwards: each heading that contains the one below
                if places[at].level < level:
                    level = places[at].level
                    found[span.document_id, starts[at]] += 1
                    labels[span.document_id, starts[at]] = _NUMBER.sub("", " ".join(places[at].label.split()))
                at -= 1
        enough = [place for place, count in found.items() if count >= _SHARE_UNDER_HEADING * len(rows)]
        if not enough:
            return ""
        label = labels[max(enough, key=lambda place: (place[1], place[0]))]
        return label if len(label) <= _MOST_CHARACTERS and _LETTERS.search(label) else ""


_NO_ROWS: Rows = np.zeros(0, np.int64)
_NO_HEADINGS: tuple[list[int], list[Place]] = ([], [])


def _says(name: str, other: str) -> bool:
    """Return whether one name is part of the other, word by word ("key" of "primary key"), or its plural."""
    one, two = ([key.rstrip("s") for key in word_keys(each)] for each in (name, other))
    short, long = sorted((one, two), key=len)
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))
