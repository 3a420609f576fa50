"""The distinct phrases of a corpus by their keys, how often each is said, and how: in columns of numbers.

A dictionary of what is known of each phrase takes a kilobyte a phrase. Here keys are numbered, and what belongs to one
key is found by sorting.
"""

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from conspectus.storage.arrays import Bools, Ints, SmallInts, places_within, ranks, runs
from conspectus.storage.numbering import numbering
from conspectus.storage.records import Chunk
from conspectus.storage.text.nlp import CONCEPT, Annotations
from conspectus.storage.text.normalise import entity_key
from numpy.typing import NDArray

Numbers = Ints | SmallInts
_PHRASES_AT_ONCE = 1 << 19


class SeenPhrases:
    """The phrases of a corpus; those at one place of overlapping passages count once.

    Args:
        passages: The places of the passages.
        annotations: The phrases of each passage, sorted by place.
        languages: The language of each passage.

    Attributes:
        keys: The keys of the phrases, in no particular order. All else is by their numbers, or rows of this list.
        counts: How often each is said.
        languages: The language of most passages that contain it.
        kinds: Its most frequent type (see `_majority`).
        agreeing: How often it has this type.
        passages: The row of the passage of each phrase of the annotations.
    """

    def __init__(self, passages: "PassagePlaces", annotations: Annotations, languages: Sequence[str]) -> None:
        self._texts = annotations.texts
        self._phrases, begins = annotations.phrases()
        self.passages = np.repeat(np.arange(len(begins) - 1, dtype=np.int32), np.diff(begins))
        self.keys, self._key_of_text = _keys(self._texts, self._phrases[:, 2])
        self._once = self._first_at_each_place(passages)
        self._count_forms(languages)

    def rows(self) -> SmallInts:
        """Return the number of the key of each phrase of the annotations."""
        return self._key_of_text[self._phrases[:, 2]]

    def surface(self, row: int) -> str:
        """Return the most frequent form of a phrase."""
        return self._texts[self._surfaces.item(row)]

    def first_places(self, wanted: Bools, most: int) -> tuple[SmallInts, SmallInts, NDArray[np.uint32]]:
        """Return where some phrases are said first, in the order of the passages.

        Args:
            wanted: Whether the places of each phrase are wanted.
            most: The number of places of each.

        Returns:
            (rows, passages, ends): the phrase, the row of the passage, and where the phrase ends there, of each place.
        """
        keys = self.rows()
        places = np.flatnonzero(self._once & wanted[keys])
        order, _ = runs(keys[places])
        places = np.sort(places[order[places_within(keys[places[order]]) < most]])
        return keys[places], self.passages[places], self._phrases[places, 1]

    def _first_at_each_place(self, passages: "PassagePlaces") -> Bools:
        """Return which phrases are the first with their key at a place of a document."""
        start, of = self._phrases[:, 0], self.passages
        first, last = passages.alone()
        once = (start >= first[of]) & (start < last[of])
        beside = (np.diff(start) == 0) & (np.diff(of) == 0)  # two phrases of a passage that begin together
        once[1:] &= ~beside
        once[:-1] &= ~beside
        again = np.flatnonzero(~once)
        within = of[again]
        documents, begins = passages.documents(), passages.starts()
        order, starts = runs(self.rows()[again], documents[within], begins[within] + start[again])
        once[again[order[starts]]] = True
        return once

    def _in_blocks(self) -> Iterator[tuple[NDArray[np.uint32], SmallInts]]:
        """Yield the phrases that count, and their passages, in blocks."""
        for start in range(0, max(len(self._once), 1), _PHRASES_AT_ONCE):
            some = slice(start, start + _PHRASES_AT_ONCE)
            yield self._phrases[some][self._once[some]], self.passages[some][self._once[some]]

    def _count_forms(self, languages: Sequence[str]) -> None:
        """Count the phrases, and find the surface, the language and the type of each."""
        codes = sorted(set(languages))
        code_of = {code: number for number, code in enumerate(codes)}
        code_of_passage = np.array([code_of[language] for language in languages], np.int32)
        kinds = np.unique(np.concatenate([np.unique(some[:, 3]) for some, _ in self._in_blocks()]))
        names = [self._texts[number] for number in kinds.tolist()]
        forms: list[Ints] = []
        counts: list[Ints] = []
        for some, passages in self._in_blocks():
            kind = np.searchsorted(kinds, some[:, 3])
            form = (some[:, 2].astype(np.int64) * len(names) + kind) * len(codes) + code_of_passage[passages]
            form, said = np.unique(form, return_counts=True)
            forms.append(form)
            counts.append(said)
        form, said = np.concatenate(forms), np.concatenate(counts)
        order, starts = runs(form)
        form, said = form[order[starts]], np.add.reduceat(said[order], starts) if len(starts) else said
        text_and_kind, code = np.divmod(form, len(codes) or 1)
        text, kind = np.divmod(text_and_kind, len(names) or 1)
        key = self._key_of_text[text]
        self.counts = np.bincount(key, said, len(self.keys)).astype(np.int64)
        self._surfaces, _ = _most_frequent(len(self.keys), key, text, said, ranks(self._texts))
        of_most, _ = _most_frequent(len(self.keys), key, code, said, np.arange(len(codes)))
        self.languages = [codes[number] for number in of_most.tolist()]
        self.kinds, self.agreeing = self._majority(names, key, kind, said)

    def _majority(self, names: list[str], key: SmallInts, kind: Ints, said: Ints) -> tuple[list[str], Ints]:
        """Return the most frequent type of each phrase, and how often it has this type.

        On a tie, one of names comes before CONCEPT, then alphabetical order.
        """
        named = np.array([name != CONCEPT for name in names], np.bool_)[kind]
        best, agreeing = _most_frequent(len(self.keys), key[named], kind[named], said[named], ranks(names))
        times_named = np.bincount(key[named], said[named], len(self.keys))
        is_concept = times_named * 2 < self.counts
        agreeing = np.where(is_concept, self.counts - times_named.astype(np.int64), agreeing)
        pairs = zip(best.tolist(), is_concept.tolist(), strict=True)
        return [CONCEPT if concept else names[number] for number, concept in pairs], agreeing


class PassagePlaces:
    """Where passages stand in their documents, in columns of numbers."""

    def __init__(self) -> None:
        self._numbers = numbering()
        self._documents, self._starts, self._ends = array("i"), array("q"), array("q")

    def add(self, chunk: Chunk) -> None:
        """Add the place of the next passage."""
        self._documents.append(self._numbers[chunk.document_id])
        self._starts.append(chunk.start)
        self._ends.append(chunk.end)

    def documents(self) -> SmallInts:
        """Return the number of the document of each passage."""
        return np.frombuffer(self._documents, np.int32)

    def starts(self) -> Ints:
        """Return the offset of each passage in its document."""
        return np.frombuffer(self._starts, np.int64)

    def alone(self) -> tuple[SmallInts, SmallInts]:
        """Return the offsets [first, last) in each passage of what no other passage of its document has."""
        starts, ends = self.starts(), np.frombuffer(self._ends, np.int64)
        order = np.lexsort((starts, self.documents()))
        first, last = starts[order], ends[order].copy()
        # In order of their places: from the farthest end of those before to the start of the next.
        same = np.diff(self.documents()[order]) == 0
        last[:-1][same] = first[1:][same]
        document = np.cumsum(~np.append(True, same)[: len(order)])
        width = int(ends.max(initial=0)) + 1
        farthest = np.maximum.accumulate(document * width + ends[order]) - document * width
        first[1:][same] = np.maximum(first[1:], farthest[:-1])[same]
        alone = np.empty((2, len(order)), np.int32)
        alone[:, order] = first - starts[order], last - starts[order]
        return alone[0], alone[1]


def _keys(texts: Sequence[str], used: NDArray[np.uint32]) -> tuple[list[str], SmallInts]:
    """Return the keys of some texts, given by number, and the number of the key of each text (-1: of the others)."""
    numbers = numbering()
    key_of_text = np.full(len(texts), -1, np.int32)
    for text in np.flatnonzero(np.bincount(used, minlength=len(texts))).tolist():
        key_of_text[text] = numbers[entity_key(texts[text])]
    return list(numbers), key_of_text


def _most_frequent(size: int, group: Numbers, value: Numbers, times: Ints, rank: Numbers) -> tuple[Ints, Ints]:
    """Return the value said most often in each of `size` groups, ties by the rank of values, and how often it is said.

    Both are 0 for a group without values.
    """
    order, starts = runs(group, value)
    said = np.add.reduceat(times[order], starts) if len(starts) else times
    group, value = group[order[starts]], value[order[starts]]
    best = np.lexsort((rank[value], -said, group))
    best = best[np.unique(group[best], return_index=True)[1]]
    most, often = np.zeros(size, np.int64), np.zeros(size, np.int64)
    most[group[best]], often[group[best]] = value[best], said[best]
    return most, often
