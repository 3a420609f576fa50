"""How good an answer over a knowledge graph is: the things it names against all that answer, and verdicts on claims.

Names are compared as the data sets' scripts compare texts (see `answers.normalised`), underscores as spaces.
"""

from collections.abc import Sequence

from conspectus.pipelines.evaluation.answers import normalised
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.citations.marks import without_marks
from conspectus.query.types import Answer

SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
_VERDICTS = {
    **dict.fromkeys(("true", "yes", "correct", "supports", "supported", "support"), SUPPORTED),
    **dict.fromkeys(("false", "no", "incorrect", "refutes", "refuted", "refute"), REFUTED),
    **dict.fromkeys(
        ("not enough info", "not enough information", "nei", "unknown", "undecided", "unproven"), UNDECIDED
    ),
}


def name_key(name: str) -> str:
    """Return the form by which names of answers are compared; a name of signs alone is itself.

    >>> name_key("The_Hurt_Locker") == name_key("the hurt locker!")
    True
    """
    plain = name.replace("_", " ")
    return normalised(plain) or plain.casefold().strip()


def answered(answer: Answer | None) -> tuple[str, ...]:
    """Return the keys of what an answer names, best first and each once; its text is one where it lists no names."""
    if answer is None:
        return ()
    named = answer.names or (without_marks(answer.text),)
    return tuple(dict.fromkeys(filter(None, map(name_key, named))))


def set_quality(named: Sequence[str], accepted: Sequence[str]) -> dict[str, float]:
    """Return `hits@1` (the first is right), `exact_match` (the sets are equal) and `f1` (of the sets) of keys."""
    right = set(map(name_key, accepted))
    shared = len(right.intersection(named))
    return {
        "hits@1": float(bool(named) and named[0] in right),
        "exact_match": float(right == set(named)),
        "f1": 2 * shared / (len(right) + len(named)) if shared else 0.0,
    }


def reached(answer: Answer | None, accepted: Sequence[str]) -> float:
    """Return 1 where some accepted answer is a node of the subgraph that an answer was made from, else 0."""
    found = answer.evidence.subgraph if answer else None
    nodes = {name_key(each) for each in found.text.nodes} if found else set()
    return float(bool(nodes.intersection(map(name_key, accepted))))


def verdict(text: str) -> str:
    """Return the verdict that a text begins with, "" where it begins with none.

    >>> [verdict(text) for text in ("REFUTES", "Yes, both are.", "Not enough info [1].", "Paris")]
    ['refuted', 'supported', 'undecided', '']
    """
    plain = without_marks(text).lower().replace("_", " ")
    words = "".join(sign if sign.isalpha() else " " for sign in plain).split()
    for length in (3, 2, 1):
        found = _VERDICTS.get(" ".join(words[:length]))
        if found:
            return found
    return ""


def accuracy(answer: Answer | None, label: str) -> float:
    """Return 1 where the verdict of an answer is that of a claim's label, else 0; not to know is not to decide."""
    if answer is None:
        return 0.0
    if answer.text == NO_ANSWER:
        said = UNDECIDED
    else:
        said = (verdict(answer.names[0]) if answer.names else "") or verdict(answer.text)
    return float(said == (verdict(label) or label))
