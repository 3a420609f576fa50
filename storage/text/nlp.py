"""Names, noun phrases and subject-predicate-object triples of a text, without a language model.

The findings of an annotator, the annotator protocol, and `open_annotator` for the configured one.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from conspectus.storage.made_rows import MadeRows
from conspectus.storage.numbering import numbering

if TYPE_CHECKING:
    import numpy as np
    from conspectus.storage.arrays import Ints, Rows
    from numpy.typing import NDArray

CONCEPT = "CONCEPT"
"""Type of a noun phrase that is not a name."""

NAME = "NAME"
"""Type of a name of unknown kind: one from the fallback, or a noun phrase about a proper noun."""

TITLE = "TITLE"
"""Type of an entity known only as the title of a document."""

RULES = "4"
"""Version of the rules for spaCy's findings; raised to invalidate cached extractions."""

PATTERNS = "6"
"""The same of the patterns for languages without a tagger."""


class Phrase(NamedTuple):
    """A name or noun phrase: characters [start, end) of a text, and its type.

    `text` is the original text, or once terms are chosen its usual form ("hash key" for "hash keys").
    """

    start: int
    end: int
    text: str
    type: str


class Triple(NamedTuple):
    """A statement between two phrases; [start, end) is its sentence."""

    subject: Phrase
    predicate: str
    object: Phrase
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """The phrases of a text in text order, and the triples among them."""

    phrases: tuple[Phrase, ...]
    triples: tuple[Triple, ...]


class Annotations(MadeRows[Annotation]):
    """The annotations of many texts, in columns of numbers; each is made when it is asked for.

    That of a passage takes half a kilobyte, as objects six. Texts, types and predicates are kept once.

    Args:
        annotations: The first annotations.
        like: Others with many of the same texts, which are kept once for both.

    >>> oil = Annotation((Phrase(0, 3, "Oil", CONCEPT),), ())
    >>> Annotations([oil, Annotation((), ())])[0] == oil
    True
    """

    def __init__(self, annotations: Iterable[Annotation] = (), like: "Annotations | None" = None) -> None:
        self._number: dict[str, int] = numbering() if like is None else like._number
        self._listed: list[str] = [] if like is None else like._listed
        # Start, end, text and type of each phrase; subject, predicate, object, start and end of each triple.
        self._phrases: Any = array("I")
        self._triples: Any = array("I")
        # By text: the end of its phrases, the end of those that only its triples have, the end of its triples.
        self._ends = array("Q", (0, 0, 0))
        self.extend(annotations)

    def extend(self, annotations: Iterable[Annotation]) -> None:
        """Add annotations."""
        number = self._number
        for annotation in annotations:
            place = {phrase: row for row, phrase in enumerate(annotation.phrases)}
            phrases = list(annotation.phrases)
            for subject, predicate, object_, start, end in annotation.triples:
                for phrase in (subject, object_):
                    if phrase not in place:
                        place[phrase] = len(phrases)
                        phrases.append(phrase)
                self._triples.extend((place[subject], number[predicate], place[object_], start, end))
            shown = self._ends[-2] + len(annotation.phrases)
            for start, end, text, kind in phrases:
                self._phrases.extend((start, end, number[text], number[kind]))
            self._ends.extend((shown, len(self._phrases) // 4, len(self._triples) // 5))

    def spill(self) -> "Annotations":
        """Move the phrases and triples to unnamed files, as a large build does; nothing can be added any more."""
        self._phrases, self._triples = _spilled(self._phrases), _spilled(self._triples)
        return self

    def phrases(self) -> "tuple[NDArray[np.uint32], Ints]":
        """Return the phrases in columns, not copied: nothing can be added while they are in use.

        Returns:
            (phrases (p, 4), begins (n + 1,)): start, end, and the numbers of text and type of each phrase, and where
            the phrases of each annotation begin. Phrases that only triples have are among them.
        """
        import numpy as np

        begins = np.frombuffer(self._ends, np.uint64)[1::3].astype(np.int64)
        return np.frombuffer(self._phrases, np.uint32).reshape(-1, 4), begins

    def texts_of(self, wanted: Callable[[str], bool]) -> list[str]:
        """Return the distinct texts of the phrases of wanted types, in no particular order."""
        import numpy as np

        phrases, begins = self.phrases()
        ends = np.frombuffer(self._ends, np.uint64)[3::3].astype(np.int64)
        shown = np.arange(len(phrases)) < np.repeat(ends, np.diff(begins))  # not those that only triples have
        kinds = np.flatnonzero(np.bincount(phrases[:, 3], minlength=1))
        of_these = [kind for kind in kinds.tolist() if wanted(self.texts[kind])]
        texts = phrases[shown & np.isin(phrases[:, 3], of_these), 2]
        return [self.texts[text] for text in np.flatnonzero(np.bincount(texts, minlength=1)).tolist()]

    def only(self, rows: "Rows", texts: "NDArray[np.uint32]", kinds: "NDArray[np.uint32]") -> "Annotations":
        """Return the annotations with only some phrases, with other texts and types, and the triples between these.

        None can be added to them.

        Args:
            rows: (k,) rows of phrases (see `phrases`), ascending.
            texts: (k,) The number of the text of each.
            kinds: (k,) The number of its type.
        """
        import numpy as np

        phrases, begins = self.phrases()
        begins_now = np.searchsorted(rows, begins)
        found = Annotations(like=self)
        stay = np.empty((len(rows), 4), np.uint32)
        stay[:, :2], stay[:, 2], stay[:, 3] = phrases[rows, :2], texts, kinds
        found._phrases = _spilled(stay.reshape(-1))
        place = np.full(len(phrases), -1, np.int32)
        del phrases, stay
        place[rows] = np.arange(len(rows), dtype=np.int32)
        place[rows] -= np.repeat(begins_now[:-1].astype(np.int32), np.diff(begins_now))

        triples = np.frombuffer(self._triples, np.uint32).reshape(-1, 5)
        triples_begin = np.frombuffer(self._ends, np.uint64)[2::3].astype(np.int64)
        first = np.repeat(begins[:-1], np.diff(triples_begin))
        subject, object_ = (place[first + triples[:, column]] for column in (0, 2))
        between = np.flatnonzero((subject >= 0) & (object_ >= 0))
        triples = triples[between]
        triples[:, 0], triples[:, 2] = subject[between], object_[between]
        found._triples = _spilled(triples.reshape(-1))
        ends = np.column_stack([begins_now, begins_now, np.searchsorted(between, triples_begin)])
        found._ends = array("Q", ends.astype(np.uint64).tobytes())
        return found

    def leads(self) -> "Annotations":
        """Return the annotations with nothing but their leads: what is needed of them once names are merged."""
        found = Annotations()
        for row in range(len(self)):
            first, _, shown = self._ends[3 * row + 1 : 3 * row + 4]
            own = lead(map(self._phrase, range(first, shown)))
            found.extend([Annotation((own,) if own else (), ())])
        return found

    def _phrase(self, row: int) -> Phrase:
        start, end, text, kind = self._phrases[4 * row : 4 * row + 4].tolist()
        return Phrase(start, end, self.texts[text], self.texts[kind])

    def number(self, text: str) -> int:
        """Return the number of a text, a type or a predicate, which is new if the text is."""
        return self._number[text]

    @property
    def texts(self) -> Sequence[str]:
        """Texts, types and predicates by their numbers."""
        if new := len(self._number) - len(self._listed):
            self._listed.extend([*islice(reversed(self._number), new)][::-1])
        return self._listed

    def __len__(self) -> int:
        return len(self._ends) // 3 - 1

    def __iter__(self) -> Iterator[Annotation]:
        return map(self._made, range(len(self)))

    def _made(self, row: int) -> Annotation:
        _, first, before, shown, last, end = self._ends[3 * row : 3 * row + 6]
        numbers, texts = iter(self._phrases[4 * first : 4 * last].tolist()), self.texts
        phrases = tuple(
            Phrase(start, stop, texts[text], texts[kind])
            for start, stop, text, kind in zip(numbers, numbers, numbers, numbers, strict=True)
        )
        said = iter(self._triples[5 * before : 5 * end].tolist())
        triples = tuple(
            Triple(phrases[subject], texts[predicate], phrases[object_], start, stop)
            for subject, predicate, object_, start, stop in zip(said, said, said, said, said, strict=True)
        )
        return Annotation(phrases[: shown - first], triples)


def _spilled(numbers: "array[int] | NDArray[np.uint32]") -> "NDArray[np.uint32]":
    """Return numbers as an array, which spills if they are many."""
    import numpy as np
    from conspectus.storage.spilled import array_of

    column = array_of(len(numbers), np.int32)
    column.append(np.frombuffer(numbers, np.int32))
    return column.array().view(np.uint32)


_LEAD_WITHIN = 12
"""A text about something names it within this many characters."""


def lead(phrases: Iterable[Phrase]) -> Phrase | None:
    """Return the name at the beginning of a text, which is probably its subject; None if there is none there.

    `phrases` are those of the text, in its order.
    """
    for phrase in phrases:
        if phrase.start > _LEAD_WITHIN:
            return None
        if phrase.type not in {CONCEPT, "DATE"}:
            return phrase
    return None


class Annotator(Protocol):
    """Finds phrases and triples; `name` changes whenever its findings could."""

    name: str

    def annotate(self, text: str) -> Annotation:
        """Return the annotation of a text; deterministic."""
        ...

    def annotate_all(self, texts: Sequence[str]) -> list[Annotation]:
        """Return the annotation of each text, equal to that of `annotate`."""
        ...


def open_annotator(pipeline: str, language: str = "") -> Annotator:
    """Return the annotator named by `extraction.pipeline`: a spaCy pipeline, or `regex`.

    A pipeline made for one language is not used for another: an English model finds persons in German verbs. Texts in
    another language or script are handled by the regular expressions, so names in any script are found.

    Args:
        pipeline: The package name or path of a spaCy pipeline, or `regex`.
        language: ISO 639-1 code of the texts, "" if unknown.

    Raises:
        MissingPart: the pipeline is not installed.
    """
    from conspectus.storage.text.regex_annotator import RegexAnnotator

    if pipeline == "regex":
        return RegexAnnotator(language)
    from conspectus.storage.text.spacy_annotator import SpacyAnnotator

    found = SpacyAnnotator(pipeline)
    return found if found.reads(language) else RegexAnnotator(language)
