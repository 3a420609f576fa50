"""Sentences of an answer that tell nothing: they repeat the answer, the question, or an example of our prompt.

Small models write such sentences. They are neither shown nor taken for what the documents say.
"""

import re
from collections.abc import Sequence

from conspectus.prompts.language_model import Message

_END = re.compile(r"(?<=[.!?。！？])(?:[\"”’)\]*]*\s+|(?=[^\s\w.!?\"”’)\]*,;:]))|\n+")
_MARK = re.compile(r"\[[^\[\]]{0,80}(?:\]|$)")
_WORD = re.compile(r"[^\W_]+")
_VERDICTS = ("", "yes", "no", "true", "false", "unknown")
_LEAST_WORDS = 4
"""Shorter sentences, such as "Yes.", may occur twice, but not three times."""


def without_own_words(answer: str, messages: Sequence[Message], question: str) -> tuple[str, int]:
    """Return an answer without the sentences that tell nothing, and how many they were.

    Args:
        answer: The answer.
        messages: The prompt: what only its system message says is an example or a rule.
        question: The question.

    Example:
        >>> without_own_words("Who was Ada? She was a poet. She was a poet. ", (), "Who was Ada?")
        ('She was a poet. ', 2)
    """
    ours, given = _sides(messages)
    known, short, told, at = {_words(question)}, set[str](), list[str](), 0
    sentences = [*_END.finditer(answer), None]
    for end in sentences:
        sentence = answer[at : end.end() if end else len(answer)]
        at += len(sentence)
        words = _words(sentence)
        is_long = words.count(" ") + 1 >= _LEAST_WORDS
        is_ours = is_long and f" {words} " in ours and f" {words} " not in given
        is_cut = end is None and is_long and any(each.startswith(words) for each in known)
        if words and (words in known or is_ours or is_cut):
            continue
        told.append(sentence)
        if is_long or words in short:
            known.add(words)
        short.add(words)
    return "".join(told), len(sentences) - len(told)


def told_anew(answer: str, messages: Sequence[Message], question: str) -> str:
    """Return a whole answer without the sentences that tell nothing; "" if none is left.

    A short answer that only an example of the prompt contains tells nothing either.

    >>> prompt = (Message("system", "Example: the answer is Sweden."), Message("user", "Ada was born in Bern."))
    >>> told_anew("Sweden", prompt, "Where was Ada born?"), told_anew("Bern", prompt, "Where was Ada born?")
    ('', 'Bern')
    """
    told = without_own_words(answer, messages, question)[0].strip()
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
