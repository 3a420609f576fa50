"""Which sentences can be quoted alone: full sentences that neither point elsewhere nor depend on the previous one."""

import regex
from conspectus.storage.text.language import function_words
from conspectus.storage.text.names import words

_WORDS = (7, 45)
"""Fewest and most words of a sentence."""
_FUNCTION_SHARE = 0.2
"""Smallest share of function words in a sentence; lists of names and table rows have fewer."""

_CODE = regex.compile(r"[{}<>|\\=~^]|::|--|\b\w+\(|://|\.{3}\s*\d|\s\d+\s*$|\d+(?:\.\d+)+\.?$|\$\w|_\w|\[\w*\]")
_POINTS_ELSEWHERE = regex.compile(
    r"\b(?:see (?:also )?(?:the |section|chapter|page|figure|above|below)|for (?:more|further) (?:information|details)"
    r"|(?:described|shown|noted|mentioned) (?:above|below)|click|copyright|licen[cs]e|all rights reserved|siehe"
    r"|vgl\.|weitere informationen|voir|véase)\b",
    regex.I,
)
_LEANS = regex.compile(
    r"^(?:(?:but|and|or|so|yeah|yes|no|thanks|hi|because|since|which|where|when this|as such|however|therefore|thus"
    r"|hence|also|in addition|additionally|below|above|first of all|to \w+ this|looks like|im gegensatz|au contraire"
    r"|nevertheless|nonetheless|importantly|on the other hand|andererseits|einerseits"
    r"|außerdem|zudem|allerdings|trotzdem|dennoch|das (?:ist|sind|war|waren)"
    r"|then|otherwise|it|its|they|their|them|he|she|his|her|these|those|that|such|this|here|there|instead|moreover"
    r"|furthermore|similarly|for example|in this case|note|aber|und|oder|daher|deshalb|dies\w*|er|sie|es|jedoch|dann"
    r"|also|hier|dort|dabei|damit|dazu|mais|et|ou|donc|cependant|il|elle|ils|elles|ce|cette|ces|cela|pero|y|así|ello"
    r"|éste|esta|estos)\b(?!\s(?:chapter|section|document|manual|page|book|guide|article|paper|message|handbook"
    r"|appendix|note|kapitel|abschnitt|handbuch|dokument|seite|buch|chapitre|manuel|capítulo|documento)))",
    regex.I,
)
"""Openings of sentences that depend on the previous one, unless they refer to the text itself ("This chapter ...")."""
OF_ITSELF = regex.compile(
    r"^(?:this|these|the|in this|dieses?|in diesem|das|ce|cette|este|esta)\s(?:chapter|section|document|manual|page"
    r"|book|guide|article|paper|message|handbook|kapitel|abschnitt|handbuch|dokument|seite|chapitre|manuel|capítulo)\b",
    regex.I,
)
"""Openings of sentences in which a text refers to itself."""
_ENDS = regex.compile(r"[.!]['\"”’»)\]]*$|[。！]$")
TELLS = regex.compile(
    r"\b(?:is|are|provides?|describes?|explains?|covers?|introduces?|allows?|ist|sind|beschreibt|erklärt|behandelt|bietet"
    r"|dient|est|sont|décrit|explique|présente|permet|es|son|describe|explica|presenta|permite)\b",
    regex.I,
)
"""Verbs of sentences that say what a thing is, or what a text is about."""
SPEAKS = regex.compile(r"\b(?:I|I'm|I've|my|me|ich|mein\w*|je|mon|yo|mi|you|your|Sie|thanks|hi|hello)\b")
"""First and second person pronouns: the sentence is speech."""


def is_well_formed(text: str, language: str = "en") -> bool:
    """Return whether a text is a full sentence that can be quoted alone.

    False for headings, table rows, tables of contents, code, pointers to other places, questions, speech, and
    sentences that depend on the previous one.

    >>> [is_well_formed(text) for text in ("The keeper of the light writes the height of every tide.", "See below.")]
    [True, False]
    """
    if "\n\n" in text or not _ENDS.search(text) or not (text[:1].isupper() or text[:1] > "\u2e7f"):
        return False
    if (
        text.count('"') % 2
        or text[:1] in "\"'“„«"
        or _CODE.search(text)
        or _POINTS_ELSEWHERE.search(text)
        or _LEANS.match(text)
    ):
        return False
    keys = [word.key for word in words(text)]
    if not _WORDS[0] <= len(keys) <= (_WORDS[1] if text.isascii() or text[:1] < "\u2e7f" else 3 * _WORDS[1]):
        return False
    listed = function_words(language)
    return not listed or sum(key in listed for key in keys) >= _FUNCTION_SHARE * len(keys)
