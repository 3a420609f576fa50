"""Recognise when a model says that it has no answer, and the sentence that a user reads then.

Prompts ask for an abstention in one of two forms. Prompts whose reply is streamed to the user (`query/read`,
`query/reduce`) ask for the word NOTHING, a colon and a sentence in the language of the question: the word is removed,
the sentence is shown. Prompts that ask for a short answer (`query/cot`, `query/facts`, JSON fields named `answer`) ask
for the word "Unknown".
"""

import re
from collections.abc import Sequence

from conspectus.storage.text.language import language_of_question

NO_ANSWER = "I do not know: nothing in the indexed documents supports an answer."
"""The text of an answer that rests on nothing. `Answer.known` is false then."""

_IN_OTHER_LANGUAGES = {
    "de": "Das weiß ich nicht: In den indexierten Dokumenten steht nichts, was eine Antwort stützt.",
    "fr": "Je ne sais pas : rien dans les documents indexés ne permet de répondre.",
    "es": "No lo sé: nada en los documentos indexados respalda una respuesta.",
}

_NEAREST = {
    "en": "The nearest that they deal with: {}.",
    "de": "Am nächsten kommen: {}.",
    "fr": "Ce dont ils traitent de plus proche : {}.",
    "es": "Lo más cercano de lo que tratan: {}.",
}

UNCITED = "the answer cites nothing"
"""In the trace of a model's answer that names no valid source: it stands as written, and is not `known`."""

ABSTENTION = "NOTHING"
"""The word that opens a streamed reply without an answer."""
SEPARATORS = " \t\r\n:：*\"'`.!–—-"
"""Characters that may separate the word from the sentence behind it."""

_UNKNOWN = "unknown"
_QUOTING = " \t\r\n.!*\"'`"
_OPENING = re.compile(rf"""[\s*"'`]*{ABSTENTION}[*"'`]*(?:\s*[:：.!–—-]|[ \t]*\n|\s*$)""")


def uncited(cited: Sequence[object]) -> str:
    """Return what a trace adds about an answer without citations; "" if it cites something.

    >>> uncited([]), uncited([7])
    ('; the answer cites nothing', '')
    """
    return "" if cited else f"; {UNCITED}"


def no_answer(question: str, topics: Sequence[str] = ()) -> str:
    """Return NO_ANSWER in the language of a question, where that is German, French or Spanish; else in English.

    Args:
        question: The question.
        topics: What the documents deal with that is nearest to the question; it is named behind the sentence.

    Example:
        >>> no_answer("Qui est Ivo ?")
        'Je ne sais pas : rien dans les documents indexés ne permet de répondre.'
        >>> no_answer("Who is Ivo?", ["Lamps", "Tides"]).removeprefix(NO_ANSWER)
        ' The nearest that they deal with: Lamps; Tides.'
    """
    language = language_of_question(question, tuple(_NEAREST)) or "en"
    sentence = _IN_OTHER_LANGUAGES.get(language, NO_ANSWER)
    return f"{sentence} {_NEAREST[language].format('; '.join(topics))}" if topics else sentence


def is_no_answer(text: str) -> bool:
    """Return whether the text of an answer is NO_ANSWER in one of its languages, with or without topics."""
    return text.startswith((NO_ANSWER, *_IN_OTHER_LANGUAGES.values()))


def is_unknown(answer: str) -> bool:
    """Return whether the short answer of a model is empty or the word "Unknown".

    >>> [is_unknown(answer) for answer in ("", "Unknown.", " unknown ", "The Unknown Soldier")]
    [True, True, True, False]
    """
    return answer.strip().rstrip(".").casefold() in ("", _UNKNOWN)


def may_abstain(beginning: str) -> bool:
    """Return whether a streamed reply that begins so may still turn out to be the word NOTHING.

    >>> [may_abstain(text) for text in ("", "**NOTH", "NOTHING.", "NOTHING: No", "Not")]
    [True, True, True, False, False]
    """
    return ABSTENTION.startswith(beginning.strip(_QUOTING))


def abstention(reply: str) -> str | None:
    """Return the sentence behind the word NOTHING; None if the reply is an answer.

    >>> [abstention(text) for text in ("NOTHING: Das steht nirgends.", "NOTHING.", "Nothing yet.")]
    ['Das steht nirgends.', '', None]
    """
    word = _OPENING.match(reply)
    return reply[word.end() :].lstrip(SEPARATORS) if word else None
