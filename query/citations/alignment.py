"""Where in a passage the support of a sentence stands.

A model cites passages by number. The citation that a reader wants is narrower: the sentences of the passage that
the answer's sentence shares most of its meaning with, by words weighed with their inverse document frequency.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from math import fsum

import regex
from conspectus.query.types import Passage
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

_MARK = regex.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_BEHIND = " \t\r\n.!?。！？…"
"""What may be left of a sentence behind its marks: no part of the next one."""
Weigh = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence of an answer without its marks, and the numbers of the passages that it cites."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence of an answer that cites: it begins at `start`, and its marks end at `end`.

    A full stop behind the marks ends at `rest`.
    """

    start: int
    end: int
    rest: int
    cited: Cited


def cited_sentences(answer: str) -> Iterator[Cited]:
    """Yield the sentences of an answer that cite passages: marks are [1], [1][2] or [1, 2].

    >>> [each.numbers for each in cited_sentences("It is so [1][3]. Or is it? Perhaps [2, 3].")]
    [(1, 3), (2, 3)]
    """
    return (each.cited for each in marked_sentences(answer))


def marked_sentences(answer: str) -> Iterator[Marked]:
    """Yield the same with the places where they stand."""
    # A mark may stand before or behind the full stop: what ends with marks is one sentence.
    start = 0
    for group in regex.finditer(rf"(?:\s*{_MARK.pattern})+", answer):
        before = answer[start : group.start()]
        spans = sentence_spans(before)
        first = spans[-1][0] if spans else 0
        first += len(before[first:]) - len(before[first:].lstrip(_BEHIND))
        numbers = [int(each) for mark in _MARK.finditer(group[0]) for each in regex.findall(r"\d+", mark[1])]
        rest = regex.compile(r"[.!?。！？…]*+").match(answer, group.end())
        end = rest.end() if rest else group.end()
        yield Marked(start + first, group.end(), end, Cited(before[first:].strip(), tuple(dict.fromkeys(numbers))))
        start = group.end()


def keeping(answer: str, kept: Container[int]) -> str:
    """Return an answer in which only these numbers are cited, each in a mark of its own.

    >>> keeping("So [3][1]. Not so [9]. Both [1, 9].", {1, 3})
    'So [3][1]. Not so. Both [1].'
    """

    def marks(found: regex.Match[str]) -> str:
        numbers = [int(each) for each in regex.findall(r"\d+", found[2])]
        left = dict.fromkeys(each for each in numbers if each in kept)
        return found[1] + "".join(f"[{each}]" for each in left) if left else ""

    return regex.sub(rf"(\s*){_MARK.pattern}", marks, answer)


def support(sentence: str, passage: Passage, weigh: Weigh) -> Span:
    """Return the sentence of a passage that shares most with a sentence of an answer, ties by place.

    `weigh` gives the weight of a word by its key. Where nothing is shared it is the whole passage.
    """
    wanted = {word.key for word in words(sentence)}
    best, start, end = 0.0, 0, len(passage.text)
    for first, last in sentence_spans(passage.text):
        shared = wanted & {word.key for word in words(passage.text[first:last])}
        if (score := fsum(weigh(key) for key in sorted(shared))) > best:
            best, start, end = score, first, last
    return Span(passage.document_id, passage.chunk_id, passage.start + start, passage.start + end)
