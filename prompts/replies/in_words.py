"""Replies that are not the requested JSON: triples in lines, numbered lists, a comparison in prose.

Each function returns None if a reply contains nothing of its kind; the reply then counts as unusable.
"""

import re
from collections.abc import Iterator

from conspectus.prompts.replies.thinking import without_thinking

LONGEST = 100_000
"""At most this many characters of a reply are read."""
_SENTENCE_LABEL = re.compile(r"(?im)^[^\w\n]*+(?:test |next )?(?:sentence|text|input)\s*\d*\s*:")
_CALL = re.compile(r"(?<![\w\\])(?P<relation>[^\W\d][\w\\,'-]{0,80})\((?P<inside>(?:[^()\n]|\([^()\n]*\)){1,300})\)")
_BRACKETED = re.compile(r"[(\[<](?P<inside>[^()\[\]<>\n]{3,400})[)\]>]")
_PARTS = re.compile(r"\s*(?:\||;|\t|->|→|—)\s*|\s*,\s*")
_STRONG_PARTS = re.compile(r"\s*(?:\||\t|->|→)\s*")
_LISTED = re.compile(
    r"^(?:#{1,6}\s)?\s{0,3}(?:\*\*)?(?:(?P<number>\d{1,3})[.)、]|[-*•])\s*(?P<item>\S.*)$", re.MULTILINE
)
_NUMBERED = re.compile(r"^\s*\(?\d{1,3}[.)、:]\s*")
_OUTER = re.compile(r"^[\s*_`\"'“”]+|[\s*_`\"'“”]+$")
_SCORE = r"(\d{1,3}(?:\.\d{1,3})?)"
_FIRST_LINE = re.compile(rf"^\W*{_SCORE}\s*(?:/\s*\d+)?[\s,;:/]+{_SCORE}\s*(?:/\s*\d+)?\s*(?:$|\n)")
_TWO = r"(?:assistant|answer|response|model|candidate)"
_SCORED = re.compile(
    rf"{_TWO}\W{{0,4}}(?P<which>[12AB])\W{{1,6}}(?:score\W{{1,4}})?{_SCORE}(?=\s|[.,;/)(]|$)(?!\s*[=+*^])",
    re.IGNORECASE,
)
_PAIR = re.compile(rf"\(\s*{_SCORE}\s*,\s*{_SCORE}\s*\)\s*(?:$|[.\n]|for )")
_BETTER = re.compile(
    rf"{_TWO} (?P<which>[12AB])(?:'s (?:answer|response|\w+))? (?:\w+ ){{0,3}}?(?:performed|performs|is|was|did|"
    rf"does|wins|provided)\b(?: \w+){{0,2}}? "
    rf"?(?:better|best|superior|the winner|stronger)|{_TWO} (?P<wins>[12AB]) wins|(?:better|best|winner|"
    rf"prefer(?:red)?)\W{{0,4}}(?:is|:)?\W{{0,4}}(?:{_TWO} )?(?P<choice>[12AB])\b",
    re.IGNORECASE,
)
_TIE = re.compile(
    r"\b(?:tie|tied|draw|equally (?:good|well|bad)|both (?:answers|assistants) are (?:equal|equally)|"
    r"neither (?:answer )?is (?:clearly )?better)\b",
    re.IGNORECASE,
)


def triples_in_words(reply: str) -> list[list[str]] | None:
    """Return the triples (subject, predicate, object) of a reply that is no JSON.

    They are read as `relation(subject, object)`, and as `(subject, relation, object)` or `subject | relation | object`
    on a line. If the model continues with texts that it invented, only the triples of the first text are read.

    >>> triples_in_words("Triples:\\n- born\\\\_in(Ada Mirren, Pelluci)\\n\\nText: Bern ...\\n- located_in(Bern, Aar)")
    [['Ada Mirren', 'born in', 'Pelluci']]
    """
    text = without_thinking(reply)[:LONGEST]
    for block in _SENTENCE_LABEL.split(text):
        found = [list(triple) for triple in dict.fromkeys(_triples(block))]
        if found:
            return found
    return None


def _triples(block: str) -> Iterator[tuple[str, str, str]]:
    for line in block.splitlines():
        calls = list(_CALL.finditer(line))
        for call in calls:
            subject, comma, target = call["inside"].partition(",")
            triple = _triple(subject, call["relation"].replace("_", " "), target) if comma else None
            if triple:
                yield triple
        if calls:
            continue
        inside = [line] if _STRONG_PARTS.search(line) else [found["inside"] for found in _BRACKETED.finditer(line)]
        for part in inside:
            bare = part.strip().strip("()[]<>|") if part is line and part.strip()[:1] in "([<|" else part
            parts = _STRONG_PARTS.split(bare.strip()) if part is line else _PARTS.split(part, maxsplit=2)
            if len(parts) == 3 and (triple := _triple(*parts)):
                yield triple


def _triple(subject: str, relation: str, target: str) -> tuple[str, str, str] | None:
    parts = [
        " ".join(_OUTER.sub("", part.replace("\\", "").strip(" -*•")).split()) for part in (subject, relation, target)
    ]
    return (parts[0], parts[1], parts[2]) if all(re.search(r"\w", part) for part in parts) else None


def list_in_words(reply: str) -> list[str] | None:
    """Return the items of a numbered or bulleted list, without their numbers.

    If items are numbered, bullets below them belong to them and are left out.

    >>> list_in_words("Sure! Here are two:\\n1. Who built it?\\n   - a hint\\n2) When?")
    ['Who built it?', 'When?']
    """
    found = list(_LISTED.finditer(without_thinking(reply)[:LONGEST]))
    numbered = [one for one in found if one["number"]]
    return [without_number(one["item"]) for one in numbered or found] or None


def without_number(item: str) -> str:
    """Return an item of a list without a number and markup around it.

    >>> without_number("2. **Who built it?**")
    'Who built it?'
    """
    return _OUTER.sub("", _NUMBERED.sub("", item.strip(), count=1)).strip() or item.strip()


def comparison_in_words(reply: str) -> str | None:
    """Return which of two answers a judge prefers, "1", "2" or "tie": by its scores, or by its words.

    >>> comparison_in_words("8 9\\nBoth are good."), comparison_in_words("In all, Assistant 1 performed better.")
    ('2', '1')
    """
    text = without_thinking(reply)[:LONGEST].strip().replace("*", "")
    if first := _FIRST_LINE.match(text):
        return _higher(float(first[1]), float(first[2]))
    said = list(_BETTER.finditer(text))
    if said:
        which = next(name for name in said[-1].groups() if name)
        return {"A": "1", "B": "2"}.get(which.upper(), which)
    scores: dict[str, float] = {}
    for found in _SCORED.finditer(text):
        scores[{"A": "1", "B": "2"}.get(found["which"].upper(), found["which"])] = float(found[2])
    if len(scores) == 2:
        return _higher(scores["1"], scores["2"])
    pairs = list(_PAIR.finditer(text))
    if pairs:
        return _higher(float(pairs[-1][1]), float(pairs[-1][2]))
    return "tie" if _TIE.search(text) else None


def _higher(one: float, two: float) -> str:
    return "tie" if one == two else "1" if one > two else "2"
