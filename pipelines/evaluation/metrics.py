"""Evaluation metrics, one value per question, and bootstrap confidence intervals of their means."""

import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
import regex
from conspectus.query.abstention import is_no_answer
from conspectus.query.citations.marks import without_marks
from conspectus.query.types import Answer
from conspectus.storage.arrays import Vectors
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans
from rapidfuzz.distance import LCSseq


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float


def recall_at(k: int, ranked: Sequence[str], supporting: Sequence[str]) -> float:
    """Return the share of supporting documents among the first k.

    >>> recall_at(2, ["a", "x", "b"], ["a", "b"])
    0.5
    """
    return len(set(ranked[:k]) & set(supporting)) / len(set(supporting))


def all_at(k: int, ranked: Sequence[str], supporting: Sequence[str]) -> float:
    """Return 1 if every supporting document is among the first k, else 0.

    >>> all_at(3, ["a", "x", "b"], ["a", "b"])
    1.0
    """
    return float(set(supporting) <= set(ranked[:k]))


def rank_documents(document_ids: Sequence[str]) -> list[str]:
    """Rank documents by their best passage.

    >>> rank_documents(["a", "b", "a", "c"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(document_ids))


def bootstrap(values: Sequence[float], resamples: int = 1000, seed: int = 7) -> Interval:
    """Return the mean and its percentile bootstrap 95 % interval (Efron 1979): questions drawn with replacement."""
    data = np.asarray(values, float)
    draws = np.random.default_rng(seed).integers(0, len(data), (resamples, len(data)))
    low, high = np.percentile(data[draws].mean(axis=1), [2.5, 97.5])
    return Interval(float(data.mean()), float(low), float(high))


Embed = Callable[[Sequence[str]], Vectors]
"""Returns a unit vector for each text, (n, dimension)."""
Weigh = Callable[[str], float]
"""Returns the weight of a word by its key; `Bm25.inverse_document_frequency` is one."""

LEAST_COSINE = 0.6
"""The least cosine at which a sentence of an answer covers a sentence of the reference. 2 % of the sentences in QMSum's
references reach it against four references about other meetings, which do not cover them."""

_ARTICLES = regex.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_YES_NO = frozenset({"yes", "no", "noanswer"})
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = regex.compile(rf"[{_UNSPACED}]|[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]+", regex.V1)


def normalised(text: str) -> str:
    """Return an answer normalised as by the scripts of SQuAD and HotpotQA.

    Lower case, without ASCII punctuation, then without the articles a, an and the, with single spaces (Rajpurkar et
    al. 2016; Yang et al. 2018).

    >>> normalised("The  Beatles!")
    'beatles'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 if the normalised answer equals an accepted one, else 0 (SQuAD; 0 if there are no accepted answers)."""
    return float(any(normalised(answer) == normalised(item) for item in accepted))


def token_f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the best F1 of the bags of normalised tokens, as in HotpotQA's script.

    If one of the two is yes, no or noanswer and the other differs, F1 is 0: "yes, both are" does not match "yes". If
    one is empty, it is 0.
    """
    return max((_f1_of_tokens(normalised(answer), normalised(item)) for item in accepted), default=0.0)


def _f1_of_tokens(answer: str, gold: str) -> float:
    if answer != gold and {answer, gold} & _YES_NO:
        return 0.0
    mine, theirs = answer.split(), gold.split()
    shared = sum((Counter(mine) & Counter(theirs)).values())
    return _f1(shared, len(mine), len(theirs))


def rouge_l(answer: str, references: Sequence[str]) -> float:
    """Return the best ROUGE-L F1 (Lin 2004), as the package rouge_score computes `rougeL` without stemming.

    The longest common subsequence of tokens is over the whole answer, not by sentences (`rougeLsum`). Tokens are
    runs of letters and numbers in lower case. rouge_score drops all but a-z and 0-9; on such text both agree. Here
    letters of every script count, those of scripts without spaces one by one.
    """
    mine, *others = (_TOKEN.findall(text.lower()) for text in (answer, *references))
    return max((_f1(LCSseq.similarity(mine, other), len(mine), len(other)) for other in others), default=0.0)


def _f1(shared: int, mine: int, theirs: int) -> float:
    return 2 * shared / (mine + theirs) if shared else 0.0


def sentence_coverage(answer: str, references: Sequence[str], embed: Embed, least: float = LEAST_COSINE) -> float:
    """Return the share of a reference's sentences that the answer covers, for the best reference.

    A sentence is covered if some sentence of the answer has a cosine of at least `least` with it. Longer answers cover
    more; read it together with ROUGE-L, which penalises length.
    """
    mine = _sentences(answer)
    shares = [0.0]
    for reference in references:
        wanted = _sentences(reference)
        if mine and wanted:
            vectors = embed([*wanted, *mine])
            nearest = (vectors[: len(wanted)] @ vectors[len(wanted) :].T).max(axis=1)
            shares.append(float((nearest >= least).mean()))
    return max(shares)


def word_coverage(answer: str, references: Sequence[str], weigh: Weigh) -> float:
    """Return the weighted share of a reference's words that occur in the answer, for the best reference.

    Words count once each, by their keys (NFKC, case-folded, not stemmed), with the weight of `weigh`. With inverse
    document frequencies content words dominate, in any language and without a list of stop words.
    """
    mine = {word.key for word in words(answer)}
    return max((_held(mine, {word.key for word in words(reference)}, weigh) for reference in references), default=0.0)


def _held(mine: set[str], wanted: set[str], weigh: Weigh) -> float:
    whole = fsum(weigh(item) for item in sorted(wanted))
    return fsum(weigh(item) for item in sorted(wanted & mine)) / whole if whole else 0.0


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


SUPPORTED, REFUTED, UNDECIDED = "supported", "refuted", "undecided"
_CLAIM_VERDICTS = {
    **dict.fromkeys(("true", "yes", "correct", "supports", "supported", "support"), SUPPORTED),
    **dict.fromkeys(("false", "no", "incorrect", "refutes", "refuted", "refute"), REFUTED),
    **dict.fromkeys(
        ("not enough info", "not enough information", "nei", "unknown", "undecided", "unproven"), UNDECIDED
    ),
}


def name_key(name: str) -> str:
    """Return the form in which names in answers are compared; a name of punctuation alone is unchanged.

    >>> name_key("The_Hurt_Locker") == name_key("the hurt locker!")
    True
    """
    plain = name.replace("_", " ")
    return normalised(plain) or plain.casefold().strip()


def answered(answer: Answer | None) -> tuple[str, ...]:
    """Return the distinct keys of an answer's names, best first; its text is the only name if it lists none."""
    if answer is None:
        return ()
    named = answer.names or (without_marks(answer.text),)
    return tuple(dict.fromkeys(filter(None, map(name_key, named))))


def set_quality(named: Sequence[str], accepted: Sequence[str]) -> dict[str, float]:
    """Return `hits@1` (the first key is right), `exact_match` (the sets are equal) and `f1` (of the sets)."""
    right = set(map(name_key, accepted))
    shared = len(right.intersection(named))
    return {
        "hits@1": float(bool(named) and named[0] in right),
        "exact_match": float(right == set(named)),
        "f1": 2 * shared / (len(right) + len(named)) if shared else 0.0,
    }


def reached(answer: Answer | None, accepted: Sequence[str]) -> float:
    """Return 1 if some accepted answer is a node of the subgraph that an answer was made from, else 0."""
    found = answer.evidence.subgraph if answer else None
    nodes = {name_key(node) for node in found.text.nodes} if found else set()
    return float(bool(nodes.intersection(map(name_key, accepted))))


def validity(answer: Answer) -> dict[str, float]:
    """Return which shares of the nodes and edges that an answer cites are in its subgraph, and whether all are.

    He et al. 2024, table 5 (hallucination): `valid_nodes` and `valid_edges` are measured of answers that cite nodes, or
    edges, and `valid_graphs` of those that cite either: 1 if nothing of it is made up. Nothing of any other answer.
    """
    parts = answer.cited_parts
    if parts is None:
        return {}
    found = {}
    if parts.nodes_cited:
        found["valid_nodes"] = len(parts.nodes) / parts.nodes_cited
    if parts.edges_cited:
        found["valid_edges"] = len(parts.edges) / parts.edges_cited
    return found | ({"valid_graphs": float(parts.fully_valid)} if found else {})


def verdict(text: str) -> str:
    """Return the verdict that a text begins with, "" if there is none.

    >>> [verdict(text) for text in ("REFUTES", "Yes, both are.", "Not enough info [1].", "Paris")]
    ['refuted', 'supported', 'undecided', '']
    """
    plain = without_marks(text).lower().replace("_", " ")
    words = "".join(sign if sign.isalpha() else " " for sign in plain).split()
    for length in (3, 2, 1):
        found = _CLAIM_VERDICTS.get(" ".join(words[:length]))
        if found:
            return found
    return ""


def accuracy(answer: Answer | None, label: str) -> float:
    """Return 1 if the verdict of an answer is that of a claim's label, else 0; a declined answer is undecided."""
    if answer is None:
        return 0.0
    if is_no_answer(answer.text):
        said = UNDECIDED
    else:
        said = (verdict(answer.names[0]) if answer.names else "") or verdict(answer.text)
    return float(said == (verdict(label) or label))
