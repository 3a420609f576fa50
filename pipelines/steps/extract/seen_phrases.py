"""The distinct phrases of a corpus by their keys, how often each is said, and how, counted by SQL."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from conspectus.storage.arrays import Bools, Ints, SmallInts, places_within, runs
from conspectus.storage.numbering import numbering
from conspectus.storage.records import Chunk
from conspectus.storage.sql_engine import Engine
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.nlp import Annotations
from conspectus.storage.text.normalise import entity_key
from numpy.typing import NDArray

_SQL = Path(__file__).with_suffix(".sql")


class SeenPhrases:
    """The phrases of a corpus; those at one place of overlapping passages count once.

    Args:
        chunks: The passages.
        annotations: The phrases of each passage, sorted by place.
        languages: The language of each passage.

    Attributes:
        keys: The keys of the phrases, in no particular order. All else is by their numbers, or rows of this list.
        counts: How often each is said.
        languages: The language of most passages that contain it.
        kinds: Its most frequent type; on a tie, one of names comes before CONCEPT, then alphabetical order.
        agreeing: How often it has this type.
        passages: The row of the passage of each phrase of the annotations.
    """

    def __init__(self, chunks: Sequence[Chunk], annotations: Annotations, languages: Sequence[str]) -> None:
        import pyarrow as pa

        self._texts = annotations.texts
        self._phrases, begins = annotations.phrases()
        self.passages = np.repeat(np.arange(len(begins) - 1, dtype=np.int32), np.diff(begins))
        numbers, self._key_of_text = numbering(), np.full(len(self._texts), -1, np.int32)
        used = [np.flatnonzero(np.bincount(self._phrases[:, column], minlength=1)) for column in (2, 3)]
        for text in used[0].tolist():
            self._key_of_text[text] = numbers[entity_key(self._texts[text])]
        self.keys = list(numbers)
        places = arrow_of(Chunk, chunks, ["document_id", "start"])
        columns = dict(zip(("begins", "text", "kind"), self._phrases[:, [0, 2, 3]].T, strict=True))
        order = np.arange(len(self.passages), dtype=np.int32)
        worded = np.union1d(*used)
        with Engine() as engine:
            engine.show("phrases", pa.table({"nth": order, "passage": self.passages, **columns}))
            engine.show("key_of_texts", pa.table({"text": used[0], "key": self._key_of_text[used[0]]}))
            words = pa.array([self._texts[number] for number in worded.tolist()], pa.string())
            engine.show("words", pa.table({"number": worded, "word": words}))
            passage, language = np.arange(len(places), dtype=np.int32), pa.array(languages, pa.string())
            names = ("passage", "document", "begins", "language")
            engine.show("passages", pa.table([passage, *places.columns, language], names))
            engine.run(_SQL)
            self._once: SmallInts = engine.table("SELECT nth FROM said ORDER BY nth")["nth"].to_numpy()
            known = engine.table("FROM known")
        self.counts: Ints = known["said"].to_numpy()
        self.agreeing: Ints = known["agreeing"].to_numpy()
        self._surfaces: Ints = known["surface"].to_numpy()
        self.languages: list[str] = known["language"].to_pylist()
        self.kinds: list[str] = known["kind"].to_pylist()

    def rows(self) -> SmallInts:
        """Return the number of the key of each phrase of the annotations."""
        return self._key_of_text[self._phrases[:, 2]]

    def surface(self, row: int) -> str:
        """Return the most frequent form of a phrase."""
        return self._texts[int(self._surfaces[row])]

    def first_places(self, wanted: Bools, most: int) -> tuple[SmallInts, SmallInts, NDArray[np.uint32]]:
        """Return where some phrases are said first, in the order of the passages.

        Args:
            wanted: Whether the places of each phrase are wanted.
            most: The number of places of each.

        Returns:
            (rows, passages, ends): the phrase, the row of the passage, and where the phrase ends there, of each place.
        """
        keys = self.rows()
        places = self._once[wanted[keys[self._once]]]
        order, _ = runs(keys[places])
        places = np.sort(places[order[places_within(keys[places[order]]) < most]])
        return keys[places], self.passages[places], self._phrases[places, 1]
