"""Personalized PageRank over names and passages, for evidence that takes several hops.

The method follows HippoRAG (Gutiérrez et al. 2024, arXiv 2405.14831, section 2.3): link the question to nodes of a
graph, let a random walk with restart spread from them, and rank passages by the time it spends there. `rank_passages`
is the whole method, from top to bottom:

1. *Links.* Titles and entities that the question names (question/linking.py).
2. *Personalization vector.* Their nodes, and the passages nearest in words and meaning (seeds.py).
3. *Walk.* Personalised PageRank from this vector (storage/graph/pagerank.py).
4. *Candidates.* The passages with the largest score of the walk.
5. *Pairs.* Two linked passages are scored together for the question terms that they cover jointly (pairs.py).
6. *Second hop.* The question is asked again with names from the first passages (second_hop.py).
7. *Text.* Each candidate's words and meaning, without any walk.
8. *Final ranking.* FORMULA: the fewer titles other passages mention (manuals, mail), the more words and meaning count.
9. *Time.* Passages of one document are ordered by the dates in the question too (question/times.py).

Differences from the paper, by measurement (docs/decisions/personalized-pagerank.md): precise name edges in addition to
vague occurrence edges (storage/graph/walk_graph.py), passages seed the walk as well as entities, and steps 5 and 6.
"""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.methods.ppr.pairs import PairScores, joined_by_titles, linked_by_names, score_pairs
from conspectus.query.methods.ppr.second_hop import FirstPassage, Rewrite, SecondHop, rewrite_question, second_hop
from conspectus.query.methods.ppr.seeds import (
    COSINE_WEIGHT,
    TEXT_SEEDS,
    TextScores,
    margins,
    personalization,
    share,
    text_scores,
)
from conspectus.query.question.question import Question, encoder_of, open_question
from conspectus.query.question.spelling import spelling_steps
from conspectus.query.question.times import in_time, time_steps
from conspectus.query.types import Evidence, Step
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pagerank import PageRank, personalized_pagerank
from conspectus.storage.index import per_index
from conspectus.storage.records import Name
from conspectus.storage.text.language import MULTILINGUAL_ENCODER

_POOL = 100  # passages that are ranked again in pairs: time grows with their number
_TEXT_PRIOR = 0.003
"""Prior of the passage nearest in words and meaning, so that it is a candidate; others have less (power 4)."""
_HOP_PRIOR = 0.06
"""Prior that the passages of the second hop share, as if the walk had reached them."""
_HOP_PASSAGES = 5
"""Number of passages that share it."""
_FLOOR = 1e-6
"""Prior of a passage that the walk did not reach."""
_PAIR_WEIGHT = 4.0
"""Weight of how well passages match the question (alone, in pairs, after a second hop), relative to the walk. Fitted:
docs/retrieval.md."""
_TITLES_WEIGHT = 3.0
_WORDS_WEIGHT = 0.5
"""Weights of a title that joins two passages, and of BM25, if the question names no title."""
_PHRASE_WEIGHT = 0.5
"""Weight of a phrase of the question, relative to its words."""
_TEXT_WEIGHT = 8.0
"""Weight of a passage's nearness in words and meaning if no title is mentioned. Half and double are as good."""
_TITLES_THAT_LEAD = 0.5
"""Mentioned titles per passage at which the walk needs no help: encyclopedias have .8, manuals and mail .01 to .15."""
FORMULA = (
    f"exp(x - x of the best passage), where x = log(walk + text + hop + {_FLOOR:g}) + "
    f"{_PAIR_WEIGHT:g} * (closeness + gain + max(joint, alone)"
    f" + {_TITLES_WEIGHT:g} * titles + {_WORDS_WEIGHT:g} * words) + "
    f"{_TEXT_WEIGHT:g} * (1 - names) * match"
)
"""A passage's score. explain/ppr.py explains its terms."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n passages to rank, with their scores from the first hop.

    Attributes:
        rows: (n,) chunk rows.
        prior: (n,) the score of the walk, plus a little for passages near in text.
        closeness: (n,) cosines with the question.
        pairs: the coverage of the question by each, alone and with the passages linked to it.
        titles: (n,) the cover with a passage joined by title; 0 if the question names a title, which guides the walk.
        words: (n,) BM25, 1 for the best of all chunks; 0 if the question names a title.
        text_match: (n,) nearness in words and meaning (`seeds.text_scores`).
    """

    rows: Rows
    prior: Floats
    closeness: Floats
    pairs: PairScores
    titles: Floats
    words: Floats
    text_match: Floats

    @property
    def match(self) -> Floats:
        """How well each passage matches the question, alone or with another, (n,)."""
        untitled = _TITLES_WEIGHT * self.titles + _WORDS_WEIGHT * self.words
        total: Floats = self.closeness + self.pairs.together + untitled
        return total


@dataclass(frozen=True, slots=True)
class PprRanking:
    """A ranking with all its intermediate results, for its trace and its explanation.

    Attributes:
        question: the question.
        near: passages near in words and meaning.
        seeds: (s,) the nodes of the personalization vector.
        mass: (s,) its values.
        walk: the result of PageRank.
        candidates: the n passages to rank.
        rewrites: the questions of the second hop.
        hop: their scores for each candidate.
        hop_prior: (n,) the second hop's addition to the prior.
        names: how well names lead from passage to passage here, from 0 to 1 (`titles_mentioned`).
        scores: (n,) the final scores (FORMULA), 1 for the highest.
        order: (n,) the positions of the candidates, best first, ties by chunk id; of one document in the order of time.
    """

    question: Question
    near: TextScores
    seeds: Rows
    mass: Floats
    walk: PageRank
    candidates: Candidates
    rewrites: tuple[Rewrite, ...]
    hop: SecondHop
    hop_prior: Floats
    names: float
    scores: Floats
    order: Rows

    def trace(self) -> tuple[Step, ...]:
        """Return the steps of the ranking in words."""
        links, walk, n_candidates = self.question.links, self.walk, len(self.candidates.rows)
        titles = ", ".join(name.name for name in links.names) or "no title"
        return (
            *spelling_steps(self.question.mended),
            Step("link", f"the question names {titles}, and {len(links.entity_rows)} entities"),
            Step("seed", f"{min(len(self.near.rows), TEXT_SEEDS)} passages near in words and meaning"),
            Step("walk", f"{walk.solver}: {len(walk.nodes)} nodes reached, residual {walk.residual:.1e}"),
            Step("pairs", f"{n_candidates} passages ranked again with the passages they are linked with"),
            Step("second hop", self._second_hop()),
            *time_steps(self.question.time),
        )

    def _second_hop(self) -> str:
        if not self.rewrites:
            return "the first passages contain no name that leads on"
        best = int(self.hop.by[self.hop.fit.argmax()])
        above_all = f", above all as {self.rewrites[best].question!r}" if best >= 0 else ""
        return f"asked again with {len(self.rewrites)} names of the first passages{above_all}"


class PprRetriever(IndexRetriever):
    """Retrieves passages by personalized PageRank, pairs of passages and a second hop."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages.

        Args:
            question: The question.
            k: Most passages to return.

        Returns:
            The passages, best first, ties by chunk id, and the steps. Scores are positive, and comparable only within
            one question. No passages if nothing seeds the walk.
        """
        ranking = rank_passages(self._context, question, k)
        if isinstance(ranking, Step):
            return Evidence(trace=(ranking,))
        rows, scores = ranking.candidates.rows[ranking.order[:k]], np.sort(ranking.scores)[::-1]
        passages = tuple(
            self._context.passage(int(row), float(score)) for row, score in zip(rows, scores, strict=False)
        )
        return Evidence(passages, trace=ranking.trace())


def rank_passages(context: Context, text: str, k: int) -> PprRanking | Step:
    """Return the ranking of passages for a question, or a step with the reason why there is none.

    Args:
        context: The index, and `ppr` of its settings.
        text: The question.
        k: There are at least `k` candidates, if the index has so many passages.
    """
    settings, graph = context.settings.ppr, context.index.graph()
    n_chunks = context.index.manifest.rows["chunks"]
    if n_chunks == 0:
        return Step("ppr", "the index has no chunk")

    question = open_question(context, text)
    near = text_scores(context, question)
    seeds, mass = personalization(context, question.links, near)
    if not mass.sum() > 0:
        return Step("ppr", "the question names nothing here, and nothing is near to it")
    exact = settings.solver == "exact"
    walk = personalized_pagerank(graph, seeds, mass, settings.damping, exact=exact)

    pool = max(k, _POOL)
    rows = np.union1d(
        best_chunks(walk, near, n_chunks, pool), near.rows[np.argsort(-near.scores, kind="stable")[:pool]]
    )
    candidates = _candidates(context, question, walk, near, rows)

    first = _first_passages(question, candidates, settings.bridge_passages)
    rewrites = rewrite_question(context, question, first)
    more = np.setdiff1d(np.concatenate([np.zeros(0, np.int64), *(rewrite.chunks for rewrite in rewrites)]), rows)
    if len(more):
        candidates = _candidates(context, question, walk, near, np.concatenate([rows, more]))
    cosines = _cosines(context, rewrites, candidates.rows)
    hop = second_hop(candidates.rows, candidates.closeness, rewrites, cosines)
    hop_prior = second_hop_prior(hop.fit)

    # FORMULA
    names = titles_mentioned(context)
    logs = np.log(candidates.prior + hop_prior + _FLOOR) + _PAIR_WEIGHT * (candidates.match + hop.gain)
    logs += _TEXT_WEIGHT * (1 - names) * candidates.text_match
    scores = np.exp(logs - logs.max())
    order = np.lexsort((candidates.rows, -scores))
    return PprRanking(
        question,
        near,
        seeds,
        mass,
        walk,
        candidates,
        tuple(rewrites),
        hop,
        hop_prior,
        names,
        scores,
        order[in_time(context, question.time, candidates.rows[order])],
    )


@per_index
def titles_mentioned(context: Context) -> float:
    """Return how well names lead from passage to passage, from 0 to 1, by the share of titles that other passages
    mention.

    A walk follows names. It finds more than words and meaning if the titles of documents are names that other
    passages mention; a section of a manual is hardly ever mentioned by its title.
    """
    if encoder_of(context.index) == MULTILINGUAL_ENCODER:  # without a tagger of these languages, few of its names are
        return 0.0
    mentioned_in = context.index.arrow(Name, "mentioned_in").column("mentioned_in").to_numpy()
    titles_a_passage = np.count_nonzero(mentioned_in) / max(context.index.manifest.rows["chunks"], 1)
    return float(min(1.0, titles_a_passage / _TITLES_THAT_LEAD))


def best_chunks(walk: PageRank, near: TextScores, n_chunks: int, count: int) -> Rows:
    """Return the `count` chunk rows with the largest prior, best first, ties by chunk id."""
    rows = np.union1d(walk.nodes[walk.nodes < n_chunks], near.rows)
    return rows[np.argsort(-priors(walk, near, rows), kind="stable")[:count]]  # rows ascend


def priors(walk: PageRank, near: TextScores, rows: Rows) -> Floats:
    """Return the prior of chunk rows: the score of the walk, plus a little for rows near to the question in text."""
    by_text = _TEXT_PRIOR * (near.scores / near.scores.max(initial=1e-9)) ** 4
    total: Floats = _values_at(rows, walk.nodes, walk.scores) + _values_at(rows, near.rows, by_text)
    return total


def second_hop_prior(fit: Floats) -> Floats:
    """Return (n,) the second hop's prior for the best of `fit` (n,), by the margin of each over the next."""
    best, above = margins(np.arange(len(fit)), fit, _HOP_PASSAGES)
    prior = np.zeros(len(fit))
    prior[best] = share(_HOP_PRIOR, above)
    return prior


def _candidates(context: Context, question: Question, walk: PageRank, near: TextScores, rows: Rows) -> Candidates:
    """Return the first-hop scores of some chunk rows."""
    graph, terms, phrases = context.index.graph(), question.terms, question.phrases
    contained = np.concatenate([terms.contained_in(rows), phrases.contained_in(context, rows, terms)], axis=1)
    weights = np.concatenate([terms.weights, _PHRASE_WEIGHT * phrases.weights])
    vectors = context.chunk_vectors.mean_vectors(rows).astype(np.float64)
    closeness = context.chunk_vectors.scores(question.vector[np.newaxis], rows)[0].astype(np.float64)
    pairs = score_pairs(
        closeness,
        vectors @ vectors.T,
        linked_by_names(graph, rows, question.links, len(context.chunks)),
        joined_by_titles(context, graph, rows),
        contained,
        weights / max(weights.sum(), 1e-9),
    )
    named = bool(question.links.names)
    leads = not named and encoder_of(context.index) != MULTILINGUAL_ENCODER
    titles = pairs.titles if leads else np.zeros(len(rows))
    words = np.zeros(len(rows)) if named else question.bm25_scores[rows]
    text_match = COSINE_WEIGHT * np.maximum(closeness, 0.0) + question.bm25_scores[rows]
    return Candidates(rows, priors(walk, near, rows), closeness, pairs, titles, words, text_match)


def _first_passages(question: Question, candidates: Candidates, count: int) -> list[FirstPassage]:
    """Return the best passages of the first hop.

    The weight of each is sqrt(score / best score).
    """
    logs = np.log(candidates.prior + _FLOOR) + _PAIR_WEIGHT * candidates.match
    best = np.lexsort((candidates.rows, -logs))[:count]
    contained = question.terms.contained_in(candidates.rows[best])
    return [
        FirstPassage(int(candidates.rows[place]), float(np.exp((logs[place] - logs.max()) / 2)), own)
        for place, own in zip(best, contained, strict=True)
    ]


def _cosines(context: Context, rewrites: list[Rewrite], rows: Rows) -> Floats:
    """Return (q, n) the cosines of q rewritten questions with n chunk rows."""
    if not rewrites:
        return np.zeros((0, len(rows)))
    vectors = context.embedder.embed_queries([rewrite.question for rewrite in rewrites])
    return context.chunk_vectors.scores(vectors, rows).astype(np.float64)


def _values_at(rows: Rows, known: Rows, values: Floats) -> Floats:
    """Return the value of each row, `known` being ascending; 0 if it is not known."""
    if not len(known):
        return np.zeros(len(rows))
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    found: Floats = np.where(known[at] == rows, values[at], 0.0)
    return found
