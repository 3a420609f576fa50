"""When to stop reading a reply: it repeats itself, or is far longer than its step and its input need.

Small models often fall into a loop and would fill the reply to its bound. What came before the loop can be used.
"""

import re
from collections import deque
from typing import Literal

from conspectus.prompts.replies.thinking import AnswerLength

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
_NUMBER_OF_A_LINE = re.compile(r"^\W*\d{1,4}[.):\]]", re.MULTILINE)
"""The number of an item: a list that repeats itself counts on."""
_GRAM, _SEEN, _MOST_NEW = 5, 100, 2
"""A reply repeats itself if at most so many of its last `_SEEN` sequences of `_GRAM` words are new."""
_MOST_BLANK = 400
"""Characters without a word after which nothing more is expected: grammars let models write spaces for ever."""
_AT_ONCE = 80
"""Characters that are read together."""
_DEFAULT_LIMIT = (16_000, 2)
_LIMITS = {
    "glean_check": (1_000, 0),
    "verify": (2_000, 0),
    "rate": (2_000, 0),
    "resolve": (2_000, 1),
    "lazy_questions": (2_000, 0),
    "lazy_relevance": (4_000, 0),
    "summarise": (4_000, 1),
    **dict.fromkeys(
        ("tog_topics", "tog_relations", "tog_entities", "tog_score", "fasttog_prune", "fact_filter"), (2_000, 1)
    ),
    **dict.fromkeys(("tog_reason", "tog_clue", "fasttog_subjects", "question_entities"), (2_000, 0)),
    **dict.fromkeys(("extract", "glean", "claims", "claims_glean", "openie_ner", "openie_triples"), (3_000, 6)),
}
"""The longest reply of each step: this many characters, and this many for each character of the input."""


def longest_reply(step: str, n_input: int) -> int:
    """Return the most characters of a reply to the input of a step, its thinking not counted.

    >>> longest_reply("extract", 500), longest_reply("glean_check", 500)
    (6000, 1000)
    """
    base, each = _LIMITS.get(step, _DEFAULT_LIMIT)
    return base + each * n_input


class Runaway:
    """Reads a reply as it arrives, and tells when to stop: at a loop, or at its longest."""

    def __init__(self, longest: int) -> None:
        self._left = longest
        self._answer = AnswerLength()
        self._waiting = ""
        self._grams: set[tuple[str, ...]] = set()
        self._last: deque[str] = deque(maxlen=_GRAM)
        self._news: deque[tuple[int, bool]] = deque(maxlen=_SEEN)
        self._read = self._end_of_word = 0
        self.kept = 0
        """If the reply is a loop: the number of its characters before the first repetition."""

    def take(self, piece: str) -> Literal["", "length", "loop"]:
        """Return why the reply should end after this piece, "" if it may go on."""
        self._waiting += piece
        if len(self._waiting) < _AT_ONCE:
            return ""
        cut = max(self._waiting.rfind(" "), self._waiting.rfind("\n")) + 1 or len(self._waiting)
        text, self._waiting = self._waiting[:cut], self._waiting[cut:]
        self._left -= self._answer.take(text)
        if self._left < 0:
            return "length"
        bare = _NUMBER_OF_A_LINE.sub(lambda number: " " * len(number[0]), text)
        for word in _WORD.finditer(bare):
            self._last.append(word[0].casefold())
            gram = tuple(self._last)
            self._news.append((self._read + word.start(), gram not in self._grams))
            self._grams.add(gram)
            self._end_of_word = self._read + word.end()
        self._read += len(text)
        if self._read - self._end_of_word > _MOST_BLANK:
            self.kept = self._end_of_word
            return "loop"
        if len(self._news) == _SEEN and sum(new for _, new in self._news) <= _MOST_NEW:
            self.kept = self._news[0][0]
            return "loop"
        return ""
