"""Recognise when a model says that it has no answer, and the sentence that a user reads then.

Prompts ask for an abstention in one of two forms. Prompts whose reply is streamed to the user (`query/read`,
`query/reduce`) ask for the word NOTHING, a colon and a sentence in the language of the question: the word is removed,
the sentence is shown. Prompts that ask for a short answer (`query/cot`, `query/facts`, JSON fields named `answer`) ask
for the word "Unknown".
"""

import re
from collections.abc import Sequence

from conspectus.storage.text.language import language_of_question
from conspectus.storage.text.sentences import sentence_spans

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

_UNKNOWN = frozenset(
    word.strip()
    for word in (
        ", unknown, none, n/a, na, null, not known, not available, not specified, not provided, not mentioned, "
        "unclear, i don't know, i don’t know, i do not know, no answer, insufficient information, unbekannt, inconnu, "
        "desconocido, unname_entity, unnamed entity"
    ).split(",")
)
_AROUND = " \t\r\n.!*\"'`{}[]()“”’‘"
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


_MATERIAL = (
    r"(?:passages?|documents?|texts?|sources?|materials?|contexts?|reports?|notes?|records?|information|"
    r"knowledge|data|triplets?|"
    r"facts|excerpts?|content|evidence|it|they|this|which)"
)
_GIVEN = r"(?:the |this |these |any |all )?(?:[\w-]+ ){0,3}?"
_ABSTAINS = re.compile(
    rf"\bi(?:'m| am) (?:sorry|unable|not able|not sure)|\bi (?:do not|don't|cannot|can't|could not|"
    rf"couldn't) (?:know|have|find|answer|"
    rf"determine|provide|locate)|\b{_GIVEN}{_MATERIAL} (?:provided |given |available |above )?(?:do|does|"
    rf"did)(?: not|n't) "
    rf"(?:\w+ )?(?:contain|mention|provide|say|state|specify|include|answer|give|tell|have|address|discuss|"
    rf"identify|reveal|"
    rf"describe|support|offer)|"
    rf"\bthere (?:is|are|was|were|seems? to be) (?:no|not enough|insufficient|missing) |\b(?:is|are|was|"
    rf"were) not (?:\w+ )?(?:mentioned|"
    rf"stated|provided|specified|given|found|known|included|available|sufficient|possible)\b|"
    rf"\b(?:not enough|insufficient|no (?:specific |relevant |further )?)information|\b(?:cannot|"
    rf"can't) be (?:answered|determined|found)|"
    rf"\bunable to (?:answer|find|determine|provide)|"
    rf"\bich (?:weiß|kann) (?:\w+ )?nicht|\b(?:steht|stehen|findet|finden|enthalten|enthält|nennen|nennt|sagen|"
    rf"geht) (?:\w+ )*nicht|"
    rf"\bkeine (?:\w+ )?(?:angaben?|informationen?|hinweise)|\bje ne (?:sais|peux|trouve)|\bne (?:contien\w+|"
    rf"mentionn\w+|précis\w+|"
    rf"permet\w*|di\w+) pas|\baucune (?:information|mention)|\bno (?:lo )?(?:sé|puedo|encuentro|menciona\w*|"
    rf"contien\w+|dice\w*)|"
    rf"\bno hay (?:información|datos|ninguna)|没有(?:提供|提到|提及|信息|相关|足够|说明)|未(?:提供|提到|提及|说明)|"
    rf"无法(?:回答|确定|得知)",
    re.IGNORECASE,
)
_LONGEST_ABSTENTION = 600


def abstains(reply: str) -> bool:
    """Return whether a model says in its own words that it has no answer: in the first sentence of a short reply.

    >>> abstains("The passages do not mention who built it."), abstains("Ivo built it.")
    (True, False)
    """
    text = reply.strip()
    if len(text) > _LONGEST_ABSTENTION:
        return False
    spans = sentence_spans(text)
    return bool(spans) and _ABSTAINS.search(text[: spans[0][1]]) is not None


def is_unknown(answer: str) -> bool:
    """Return whether the short answer of a model is empty, or one of the words for "Unknown".

    >>> [is_unknown(answer) for answer in ("", "Unknown.", "{N/A}", "The Unknown Soldier")]
    [True, True, True, False]
    """
    return answer.strip(_AROUND).casefold() in _UNKNOWN


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
