"""Citation marks in the text of a finished answer, [1], [1][2] or [1, 2]: read, written and removed.

`forms.py` reads the forms in which models write marks; in a finished answer all are [1][2].
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

import regex
from conspectus.storage.text.sentences import sentence_spans

_NUMBERS = r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]"
"""One mark: its numbers are the first group."""
_NOT_IN_CODE = r"(?ms)^[ \t]*```[^`\n]*\n.*?^[ \t]*```(*SKIP)(*FAIL)|"
_MARK = regex.compile(rf"{_NOT_IN_CODE}(\s*){_NUMBERS}")
_GROUP = regex.compile(rf"{_NOT_IN_CODE}(?:\s*{_NUMBERS})+")
_SENTENCE_ENDS = regex.compile(r"[.!?。！？…]*+")
_AFTER_MARKS = " \t\r\n.!?。！？…"
"""Characters that may remain of a sentence after its marks, and do not belong to the next one."""

UNVERIFIED = "[unverified]"
"""Added after the marks of a sentence that its sources do not support (`citations.unsupported: mark`)."""
BEST_EFFORT = "(best effort: what was found does not settle it)"
"""Added to an answer that is shown although it may well be wrong."""
NOTHING_SUPPORTED = "Nothing that this answer cites supports it."
"""The last line of an answer if none of its cited sentences is supported."""
NOTHING_FOUND = "Nothing that was found supports this answer."
"""The last line of an answer that cited nothing and that no source supports."""


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer that cites passages.

    Attributes:
        text: the sentence without its marks.
        numbers: the numbers that it cites, each once, in order.
        start: where it begins in the answer.
        end: where its marks end.
        rest: where a full stop after the marks ends.
    """

    text: str
    numbers: tuple[int, ...]
    start: int
    end: int
    rest: int


def written(numbers: Iterable[int]) -> str:
    """Return the marks of numbers, one mark per number.

    >>> written([1, 3])
    '[1][3]'
    """
    return "".join(f"[{number}]" for number in numbers)


_CODE_BLOCK = regex.compile(r"(?ms)^[ \t]*```[^`\n]*\n(?:(?!^[ \t]*```).)*^[ \t]*```\s*\Z")


def cited_sentences(answer: str) -> Iterator[CitedSentence]:
    """Yield the sentences of an answer that cite passages, in order.

    Marks may precede or follow the full stop: text that ends with marks is one sentence, as is a block of code before
    them.

    >>> [sentence.numbers for sentence in cited_sentences("It is so [1][3]. Or is it? Perhaps [2, 3].")]
    [(1, 3), (2, 3)]
    """
    start = 0
    for group in _GROUP.finditer(answer):
        before = answer[start : group.start()]
        spans = sentence_spans(before)
        code = _CODE_BLOCK.search(before)
        first = code.start() if code else spans[-1][0] if spans else 0
        first += len(before[first:]) - len(before[first:].lstrip(_AFTER_MARKS))
        ends = _SENTENCE_ENDS.match(answer, group.end())
        yield CitedSentence(
            before[first:].strip(),
            _numbers(group[0]),
            start + first,
            group.end(),
            ends.end() if ends else group.end(),
        )
        start = group.end()


def keep_marks(answer: str, kept: Container[int]) -> str:
    """Return an answer that cites only the numbers in `kept`, one mark per number.

    >>> keep_marks("So [3][1]. Not so [9]. Both [1, 9].", {1, 3})
    'So [3][1]. Not so. Both [1].'
    """

    def marks(found: regex.Match[str]) -> str:
        numbers = [number for number in _numbers(found[2]) if number in kept]
        return found[1] + written(numbers) if numbers else ""

    return _MARK.sub(marks, answer)


def without_marks(answer: str) -> str:
    """Return an answer without its citation marks and its marks of unsupported sentences.

    >>> without_marks("It is so [1][3].")
    'It is so.'
    """
    return keep_marks(without_verdicts(answer), ())


def without_verdicts(answer: str) -> str:
    """Return an answer as it was before unsupported sentences were marked.

    >>> without_verdicts("It is so [1] [unverified].")
    'It is so [1].'
    """
    text = answer.replace(f" {UNVERIFIED}", "")
    return text.removesuffix(f"\n\n{NOTHING_SUPPORTED}").removesuffix(f"\n\n{NOTHING_FOUND}")


def _numbers(marks: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in regex.findall(r"\d+", marks)))
