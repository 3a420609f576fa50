"""Detect a model's abstention, and provide the sentence shown to the user instead.

Prompts ask for an abstention in one of two forms. Prompts whose reply is streamed to the user (`query/read`,
`query/reduce`) ask for the word NOTHING, a colon and a sentence in the language of the question: the word is removed,
the sentence is shown. Prompts for a short answer (`query/answer/cot`, `query/facts`, JSON fields named `answer`) ask
for the word "Unknown".
"""

import re
from collections.abc import Sequence

from conspectus.query.sayings import saying, says
from conspectus.storage.text.language_tables import by_language, word_set
from conspectus.storage.text.sentences import sentence_spans

NO_ANSWER = "I do not know: nothing in the indexed documents supports an answer."
"""The text of an answer without support. `Answer.known` is then false."""

UNCITED = "the answer cites nothing"
"""Trace note for a model's answer without a valid citation: it is returned as written, and is not `known`."""

ABSTENTION = "NOTHING"
"""The word that opens a streamed reply without an answer."""
SEPARATORS = " \t\r\n:：*\"'`.!–—-"
"""Characters that may separate the word from the sentence after it."""

_UNKNOWN = word_set("unknown")
_AROUND = " \t\r\n.!*\"'`{}[]()“”’‘"
_QUOTING = " \t\r\n.!*\"'`"
_OPENING = re.compile(rf"""[\s*"'`]*{ABSTENTION}[*"'`]*(?:\s*[:：.!–—-]|[ \t]*\n|\s*$)""")


def uncited(cited: Sequence[object]) -> str:
    """Return the trace note about an answer without citations; "" if it cites something.

    >>> uncited([]), uncited([7])
    ('; the answer cites nothing', '')
    """
    return "" if cited else f"; {UNCITED}"


def no_answer(question: str, topics: Sequence[str] = (), statement: str = "") -> str:
    """Return NO_ANSWER in the language of a question.

    Args:
        question: The question.
        topics: The nearest subjects in the documents; listed after the sentence.
        statement: A sentence of the documents that is near, if any; quoted last, marked as no answer.

    Example:
        >>> no_answer("Qui est Ivo ?")
        'Je ne sais pas : rien dans les documents indexés ne permet de répondre.'
        >>> no_answer("Who is Ivo?", ["Lamps", "Tides"]).removeprefix(NO_ANSWER)
        ' The nearest that they deal with: Lamps; Tides.'
    """
    sentences = [saying("no answer", question)]
    if topics:
        sentences.append(saying("nearest subjects", question, "; ".join(topics)))
    if statement:
        sentences.append(saying("nearest statement", question, statement))
    return " ".join(sentences)


def no_answer_of_graph(question: str) -> str:
    """Return that nothing in a graph supports an answer, in the language of the question.

    >>> no_answer_of_graph("Qui est Ivo ?")
    'Je ne sais pas : rien dans le graphe ne permet de répondre.'
    """
    return saying("no answer of the graph", question)


def is_no_answer(text: str) -> bool:
    """Return whether a text is NO_ANSWER in one of its languages, with or without topics."""
    return says("no answer", text) or says("no answer of the graph", text)


_ABSTAINS = re.compile(
    "|".join(pattern for each in by_language("conspectus.query", "abstains.txt").values() for pattern in each.values()),
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
    """Return whether the short answer of a model is empty or a word for "Unknown".

    >>> [is_unknown(answer) for answer in ("", "Unknown.", "{N/A}", "The Unknown Soldier")]
    [True, True, True, False]
    """
    return answer.strip(_AROUND).casefold() in _UNKNOWN


def abstention(reply: str) -> str | None:
    """Return the sentence after the word NOTHING; None if the reply is an answer.

    >>> [abstention(text) for text in ("NOTHING: Das steht nirgends.", "NOTHING.", "Nothing yet.")]
    ['Das steht nirgends.', '', None]
    """
    word = _OPENING.match(reply)
    return reply[word.end() :].lstrip(SEPARATORS) if word else None
