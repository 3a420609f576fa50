"""Sentences of an answer that tell nothing: they repeat the answer, the question, or an example of our prompt.

Small models write such sentences. They are neither shown nor taken for what the documents say.
"""

import re
from collections.abc import Sequence

from conspectus.prompts.language_model import Message

_END = re.compile(r"(?<=[.!?。！？])(?:[\"”’)\]*]*\s+|(?=[^\s\w.!?\"”’)\]*,;:]))|\n+")
_MARK = re.compile(r"\[[^\[\]]{0,80}(?:\]|$)")
_WORD = re.compile(r"[^\W_]+")
_LONGEST_END = 12
"""Characters between the last word of a sentence and the next sentence."""
_VERDICTS = ("", "yes", "no", "true", "false", "unknown")
_LEAST_WORDS = 4
"""Shorter sentences, such as "Yes.", may occur twice, but not three times."""


class NewSentences:
    """Passes on the sentences of an answer as they arrive, without those that tell nothing.

    Args:
        messages: The prompt: what only its system message says is an example or a rule.
        question: The question.

    Attributes:
        dropped: How many sentences were left out.

    Example:
        >>> new = NewSentences((), "Who was Ada?")
        >>> new.take("Who was Ada? She was a poet. She was a poet. ") + new.end(), new.dropped
        ('She was a poet. ', 2)
    """

    def __init__(self, messages: Sequence[Message], question: str) -> None:
        self._ours, self._given = _sides(messages)
        self._known = {_words(question)}
        self._short = set[str]()
        self._sentence = ""
        self._is_new = False
        self.dropped = 0

    def take(self, piece: str) -> str:
        """Return what of the text is new."""
        before = self._sentence[-_LONGEST_END:]
        text, at, ready = before + piece, len(before), list[str]()
        for end in _END.finditer(text):
            if end.end() >= at:
                ready += [self._add(text[at : end.end()]), self._ended()]
                at = end.end()
        return "".join([*ready, self._add(text[at:])])

    def end(self) -> str:
        """Return the rest at the end of the answer."""
        return self._ended()

    def _add(self, text: str) -> str:
        self._sentence += text
        if self._is_new:
            return text
        words = _words(self._sentence)
        self._is_new = f" {words}" not in self._ours and not any(known.startswith(words) for known in self._known)
        return self._sentence if self._is_new else ""

    def _ended(self) -> str:
        sentence, was_new, words = self._sentence, self._is_new, _words(self._sentence)
        self._sentence, self._is_new = "", False
        is_long = words.count(" ") + 1 >= _LEAST_WORDS
        is_ours = is_long and f" {words} " in self._ours and f" {words} " not in self._given
        if words and (words in self._known or is_ours):
            self.dropped += 1
            return ""
        if is_long or words in self._short:
            self._known.add(words)
        self._short.add(words)
        return "" if was_new else sentence


def told_anew(answer: str, messages: Sequence[Message], question: str) -> str:
    """Return a whole answer without the sentences that tell nothing; "" if none is left.

    A short answer that only an example of the prompt contains tells nothing either.

    >>> prompt = (Message("system", "Example: the answer is Sweden."), Message("user", "Ada was born in Bern."))
    >>> told_anew("Sweden", prompt, "Where was Ada born?"), told_anew("Bern", prompt, "Where was Ada born?")
    ('', 'Bern')
    """
    new = NewSentences(messages, question)
    told = (new.take(answer) + new.end()).strip()
    words = f" {_words(told)} "
    ours, given = _sides(messages)
    return "" if words in ours and words not in given and words.strip() not in _VERDICTS else told


def _sides(messages: Sequence[Message]) -> tuple[str, str]:
    """Return the words of the rules and examples of a prompt, and those of what it asks about."""
    ours = " ".join(_words(message.content) for message in messages if message.role == "system")
    given = " ".join(_words(message.content) for message in messages if message.role != "system")
    return f" {ours} ", f" {given} "


def _words(text: str) -> str:
    return " ".join(_WORD.findall(_MARK.sub(" ", text).casefold()))
