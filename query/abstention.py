"""The word that a model says where its material holds no answer, and the sentence to the user behind it.

The word is for us, in whatever language the question is; the sentence is in the language of the question.
"""

import re

NOTHING = "NOTHING"
"""What the prompts query/read and query/reduce ask for; a colon and a sentence follow."""

_AROUND = " \t\r\n.!*\"'`"
SIGNS = " \t\r\n:：*\"'`.!–—-"
"""What may stand between the word and the sentence."""
_BEGINS = re.compile(rf"""[\s*"'`]*{NOTHING}[*"'`]*(?:\s*[:：.!–—-]|[ \t]*\n|\s*$)""")


def may_be_nothing(begun: str) -> bool:
    """Return whether a reply that begins so may yet turn out to be the word.

    >>> [may_be_nothing(each) for each in ("", "**NOTH", "NOTHING.", "NOTHING: No", "Not")]
    [True, True, True, False, False]
    """
    return NOTHING.startswith(begun.strip(_AROUND))


def behind_nothing(reply: str) -> str | None:
    """Return what a reply says behind the word, None where it is an answer.

    >>> [behind_nothing(each) for each in ("NOTHING: Das steht nirgends.", "NOTHING.", "Nothing yet.")]
    ['Das steht nirgends.', '', None]
    """
    word = _BEGINS.match(reply)
    return reply[word.end() :].lstrip(SIGNS) if word else None
