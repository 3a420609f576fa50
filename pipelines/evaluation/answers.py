"""How good an answer is, one number for an answer and the answers that are accepted, without a judge.

Where several answers are accepted, the best one counts. Marks of citations must be gone from an answer beforehand
(`query.citations.marks.without_marks`): they are no part of what it says.
"""

import string
from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum

import regex
from conspectus.storage.arrays import Vectors
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

Embed = Callable[[Sequence[str]], Vectors]
"""Gives a unit vector for each text, (n, dimension)."""
Weigh = Callable[[str], float]
"""Gives the weight of a word by its key; `Bm25.inverse_document_frequency` does."""

LEAST_COSINE = 0.6
"""From here on a sentence of an answer counts as saying what a sentence of the reference says. Of the sentences of
QMSum's references 2 % come this near to four references about other meetings, of which they say nothing."""

_ARTICLES = regex.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_VERDICTS = frozenset({"yes", "no", "noanswer"})
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_TOKEN = regex.compile(rf"[{_UNSPACED}]|[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]+", regex.V1)


def normalised(text: str) -> str:
    """Return an answer as the scripts of SQuAD and HotpotQA compare it.

    In small letters, without ASCII punctuation, then without the articles a, an and the, with single spaces
    (Rajpurkar et al. 2016; Yang et al. 2018).

    >>> normalised("The  Beatles!")
    'beatles'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where the normalised answer equals an accepted one, else 0 (SQuAD; 0 where none is accepted)."""
    return float(any(normalised(answer) == normalised(each) for each in accepted))


def token_f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the best F1 of the bags of normalised tokens, as HotpotQA's script has it.

    Where one of the two is yes, no or noanswer and the other is not, it is 0: "yes, both are" is no yes there.
    Where one is empty, it is 0.
    """
    return max((_f1_of_tokens(normalised(answer), normalised(each)) for each in accepted), default=0.0)


def _f1_of_tokens(answer: str, gold: str) -> float:
    if answer != gold and {answer, gold} & _VERDICTS:
        return 0.0
    mine, theirs = answer.split(), gold.split()
    shared = sum((Counter(mine) & Counter(theirs)).values())
    return _f1(shared, len(mine), len(theirs))


def rouge_l(answer: str, references: Sequence[str]) -> float:
    """Return the best ROUGE-L F1 (Lin 2004), as the package rouge_score computes `rougeL` without stemming.

    The longest common subsequence of tokens, over the answer as a whole and not by sentences (`rougeLsum`). Tokens
    are runs of letters and numbers in small letters. rouge_score drops all but a-z and 0-9; on such text both
    agree, and beyond it letters of every script count here, those of scripts without spaces one by one.
    """
    mine = _rouge_tokens(answer)
    return max((_rouge_l(mine, _rouge_tokens(each)) for each in references), default=0.0)


def _rouge_l(answer: Sequence[str], reference: Sequence[str]) -> float:
    return _f1(_common_subsequence(answer, reference), len(answer), len(reference))


def _rouge_tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def _common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence: Hyyrö's (2004) bit-parallel recurrence, a bit a token."""
    places: dict[str, int] = {}
    for place, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << place
    all_places = (1 << len(first)) - 1
    unused = all_places
    for token in second:
        met = unused & places.get(token, 0)
        unused = (unused + met | unused - met) & all_places
    return len(first) - unused.bit_count()


def _f1(shared: int, mine: int, theirs: int) -> float:
    return 2 * shared / (mine + theirs) if shared else 0.0


def sentence_coverage(answer: str, references: Sequence[str], embed: Embed, least: float = LEAST_COSINE) -> float:
    """Return the share of a reference's sentences that the answer holds, at best.

    The rule: a sentence is held where some sentence of the answer has a cosine of at least `least` with it. Longer
    answers hold more; read it beside ROUGE-L, which punishes length.
    """
    mine = _sentences(answer)
    shares = [0.0]
    for each in references:
        wanted = _sentences(each)
        if mine and wanted:
            vectors = embed([*wanted, *mine])
            nearest = (vectors[: len(wanted)] @ vectors[len(wanted) :].T).max(axis=1)
            shares.append(float((nearest >= least).mean()))
    return max(shares)


def word_coverage(answer: str, references: Sequence[str], weigh: Weigh) -> float:
    """Return the share of a reference's words that stand in the answer, at best.

    The rule: words count once each, by their keys (NFKC, case-folded, not stemmed), and as much as `weigh` says. With
    inverse document frequencies, content words decide, in any language, and no list of stop words is needed.
    """
    mine = {word.key for word in words(answer)}
    return max((_held(mine, {word.key for word in words(each)}, weigh) for each in references), default=0.0)


def _held(mine: set[str], wanted: set[str], weigh: Weigh) -> float:
    whole = fsum(weigh(each) for each in sorted(wanted))
    return fsum(weigh(each) for each in sorted(wanted & mine)) / whole if whole else 0.0


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]
