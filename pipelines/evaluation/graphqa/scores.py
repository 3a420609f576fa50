"""Score answers to GraphQA: strictly, and as the authors' own code does.

He et al. 2024, section 4: accuracy, and for several answers Hit@1, "the precision of the top returned answer". Their
code (github.com/XiaoxinHe/G-Retriever, src/utils/evaluate.py) counts more answers as right, so its scores are higher;
it has counted WebQSP in two ways, of which this is the later one.
"""

from collections.abc import Sequence

import regex
from conspectus.pipelines.evaluation.metrics import exact_match, normalised
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR


def begins_with(text: str, accepted: Sequence[str]) -> float:
    """Return 1 if a text begins with the words of an accepted answer, else 0.

    >>> begins_with("Support.", ["support"]), begins_with("supporters", ["support"]), begins_with("", ["support"])
    (1.0, 0.0, 0.0)
    """
    said = f"{normalised(text)} "
    return float(any(said.startswith(f"{normalised(item)} ") for item in accepted if normalised(item)))


def hit_at_1(text: str, accepted: Sequence[str]) -> float:
    """Return 1 if the first answer in a text is accepted, else 0.

    >>> hit_at_1("rosa tolliver|bram tolliver", ["Rosa Tolliver"]), hit_at_1("bram tolliver", ["Rosa Tolliver"])
    (1.0, 0.0)
    """
    return exact_match(text.partition(SEPARATOR)[0], accepted)


def lenient(text: str, accepted: Sequence[str], choices: Sequence[str] = ()) -> float:
    """Return 1 if the authors' code would count a text as right, else 0.

    With `choices`, the first choice that occurs in the text must be accepted; without, an accepted answer must occur
    anywhere in it, even within a word.

    >>> lenient("it supports, not counters", ["support"], ["support", "counter"]), lenient("nobody|jazmyn", ["Jazmyn"])
    (1.0, 1.0)
    """
    if choices:
        first = regex.search("|".join(map(regex.escape, choices)), text, regex.IGNORECASE)
        return float(first is not None and first.group().casefold() in {item.casefold() for item in accepted})
    said = normalised(text.replace(SEPARATOR, " "))
    return float(any(normalised(item) in said for item in accepted if normalised(item)))
