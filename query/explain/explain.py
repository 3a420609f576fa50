"""Explain a retrieval result: the parts of each passage's score and, for walks (`ppr`, HippoRAG), the paths to it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.explain.labels import Naming, hops_of
from conspectus.query.explain.types import Explained, Explanation, Path, PathHop, PathNode, ScorePart
from conspectus.query.menu import DEFAULT_RETRIEVER, find_method
from conspectus.query.methods.baselines import (
    RRF_CONSTANT,
    RRF_DEPTH,
    Bm25Retriever,
    DenseRetriever,
    HybridRetriever,
    fusion_weights,
)
from conspectus.query.methods.hipporag.graph import Memory, open_memory
from conspectus.query.methods.hipporag.hipporag import HippoRag1, HippoRag2, MemoryRanking
from conspectus.query.methods.hipporag.query_nodes import fact_sentences
from conspectus.query.methods.ppr.ppr import FORMULA, PprRanking, rank_passages
from conspectus.query.question.question import Question, open_question
from conspectus.query.types import Evidence, Passage, Step
from conspectus.storage.arrays import Ints
from conspectus.storage.errors import UsageError
from conspectus.storage.graph.ppr_paths import MassPath, top_paths
from conspectus.storage.index import per_index
from conspectus.storage.records import Relation, Synonym

LEAST_SHARE = 5e-3
"""Paths that carry a smaller share of a passage's mass are not shown."""


@dataclass(frozen=True, slots=True)
class WalkExplainer:
    """Explains the passages that `ppr` ranks for one question."""

    context: Context
    question: str
    found: PprRanking
    most_paths: int

    @property
    def naming(self) -> Naming:
        """The labels of the graph."""
        return Naming(self.context)

    def best(self, k: int) -> list[int]:
        """Return the rows of the `k` best passages."""
        return [int(row) for row in self.found.candidates.rows[self.found.order[:k]]]

    def explained(self, row: int) -> Explained:
        """Return the explanation of a chunk, or the reason why it was not ranked."""
        walk = self.found.walk
        at = np.flatnonzero(walk.nodes == row)
        mass = float(walk.scores[at[0]]) if len(at) else 0.0
        paths = self._paths(row, mass) if mass > 0 else []
        shares = [path.mass / mass for path in paths]
        place = np.flatnonzero(self.found.candidates.rows == row)
        ranked = len(place) > 0
        rank = int(np.flatnonzero(self.found.order == place[0])[0]) + 1 if ranked else None
        return Explained(
            rank=rank,
            passage=self.context.passage(row, float(self.found.scores[place[0]]) if ranked else 0.0),
            parts=self._parts(int(place[0]), mass) if ranked else (ScorePart("walk", mass, _WALK),),
            mass=mass,
            told=min(sum(shares), 1.0),
            paths=tuple(self._path(path, share) for path, share in zip(paths, shares, strict=True)),
            note="" if ranked else f"not among the {len(self.found.candidates.rows)} passages that were ranked",
        )

    def _paths(self, row: int, mass: float) -> list[MassPath]:
        return top_paths(
            self.context.index.graph(),
            self.found.seeds,
            self.found.mass,
            row,
            damping=self.context.settings.ppr.damping,
            count=self.most_paths,
            least=LEAST_SHARE * mass,
        )

    def _path(self, path: MassPath, share: float) -> Path:
        hops = hops_of(path, self.context.index.graph(), self.naming.node, self.naming.edge)
        return Path(self.naming.why(path.nodes[0], self.question, self.found), tuple(hops), share)

    def _parts(self, place: int, mass: float) -> tuple[ScorePart, ...]:
        """Return the terms of FORMULA for one candidate."""
        ranking, candidates, hop = self.found, self.found.candidates, self.found.hop
        pairs = candidates.pairs
        gain, joint, titles = float(hop.gain[place]), float(pairs.joint[place]), float(candidates.titles[place])
        partner, joined = self._name(pairs.joint_with[place]), self._name(pairs.titles_with[place])
        rewritten = self._rewritten(int(hop.by[place]))
        text = float(candidates.prior[place]) - mass
        filled = f"with a name filled in{rewritten}"
        together = f"part of the question's words and meaning in it and {partner} together, which is linked with it"
        return (
            ScorePart("walk", mass, _WALK),
            ScorePart("text", text, "added for passages near the question in words and meaning"),
            ScorePart("hop", float(ranking.hop_prior[place]), f"added for passages that answer the question {filled}"),
            ScorePart("closeness", float(candidates.closeness[place]), "likeness in meaning to the question (0 to 1)"),
            ScorePart("gain", gain, f"{'how much' if gain > 0 else 'not at all'} nearer to the question {filled}"),
            ScorePart("joint", joint, together if joint > 0 else "no other passage is linked with it"),
            ScorePart("alone", float(pairs.alone[place]), "part of the question's words and meaning in it alone"),
            ScorePart("titles", titles, f"a title links it with {joined}" if titles > 0 else "no title links it"),
            ScorePart("names", ranking.names, "how often other passages mention titles here, from 0 to 1"),
            ScorePart("match", float(candidates.text_match[place]), "nearness in words and meaning"),
            ScorePart("words", float(candidates.words[place]), _WORDS),
        )

    def _rewritten(self, number: int) -> str:
        if number < 0:
            return ""
        rewrite = self.found.rewrites[number]
        return f', asked as "{rewrite.question}" for {self._row_name(rewrite.first)}'

    def _name(self, place: int) -> str:
        return self._row_name(int(self.found.candidates.rows[place]))

    def _row_name(self, row: int) -> str:
        return f'"{self.naming.node(row).name}"'


_WORDS = "BM25 score as a part of the best one; counts where the question names no title"
_WALK = "part of the walk over names and passages, begun at what the question names, that ends here"


_MOST_PHRASES = 10
"""Number of phrases shown of a passage's sum, and searched for paths."""
_MOST_PREDICATES = 3

MEMORIES: dict[str, tuple[type[HippoRag1] | type[HippoRag2], str]] = {
    "ppr:hipporag1": (HippoRag1, "the sum over the passage's phrases of walk times how often each stands in it"),
    "ppr:hipporag2": (HippoRag2, "walk"),
}
"""The retriever of each method, and the formula that combines the parts of a score."""


@dataclass(frozen=True, slots=True)
class MemoryExplainer:
    """Explains the passages that a HippoRAG method ranks for one question."""

    context: Context
    method: str
    found: MemoryRanking
    most_paths: int

    def best(self, k: int) -> list[int]:
        """Return the rows of the `k` best passages."""
        order = np.argsort(-self.found.scores, kind="stable")[:k]
        return [int(row) for row in order if self.found.scores[row] > 0]

    def explained(self, row: int) -> Explained:
        """Return the explanation of a chunk."""
        score = float(self.found.scores[row])
        rank = (
            1 + int((self.found.scores > score).sum() + (self.found.scores[:row] == score).sum()) if score > 0 else None
        )
        paths = self._paths(row, score) if score > 0 else []
        shares = [path.mass / score for path in paths]
        return Explained(
            rank=rank,
            passage=self.context.passage(row, score),
            parts=self._parts(row, score),
            mass=score,
            told=min(sum(shares), 1.0),
            paths=tuple(self._path(path, row, share) for path, share in zip(paths, shares, strict=True)),
            note="" if rank else "the walk brings nothing here",
        )

    @property
    def _memory(self) -> Memory:
        return open_memory(self.context)

    @property
    def _over_passages(self) -> bool:
        """Whether the walk visits passages (HippoRAG 2); otherwise it ends at the phrases they contain."""
        return self.method == "ppr:hipporag2"

    def _held(self, row: int) -> list[tuple[int, float, float]]:
        """Return the phrases that contribute most to a passage: row, contribution, number of occurrences."""
        column = self._memory.counts[:, [row]].tocoo()
        phrases, counts = column.coords[0].astype(np.int64), column.data
        brought = self.found.walk.dense(self._memory.n_phrases)[phrases] * counts
        order = np.lexsort((phrases, -brought))[:_MOST_PHRASES]
        return [(int(phrases[i]), float(brought[i]), float(counts[i])) for i in order if brought[i] > 0]

    def _parts(self, row: int, score: float) -> tuple[ScorePart, ...]:
        if self._over_passages:
            return (ScorePart("walk", score, "part of the walk over the graph that ends here"),)
        held = self._held(row)
        parts = [
            ScorePart(self._node(phrase).name, brought, f"stands here {count:.0f} x, walk {brought / count:.4g}")
            for phrase, brought, count in held
        ]
        rest = score - sum(part.value for part in parts)
        return (*parts, ScorePart("others", rest, "its other phrases")) if rest > 1e-12 * score else tuple(parts)

    def _paths(self, row: int, score: float) -> list[MassPath]:
        if self._over_passages:
            return self._top(self._memory.n_phrases + row, LEAST_SHARE * score)
        found = [
            replace(path, mass=path.mass * count)
            for phrase, _, count in self._held(row)
            for path in self._top(phrase, LEAST_SHARE * score / count)
        ]
        return sorted(found, key=lambda result: (-result.mass, result.nodes))[: self.most_paths]

    def _top(self, target: int, least: float) -> list[MassPath]:
        found, damping = self.found, self.context.settings.ppr.damping
        return top_paths(
            found.graph, found.seeds, found.mass, target, damping=damping, count=self.most_paths, least=least
        )

    def _path(self, path: MassPath, row: int, share: float) -> Path:
        hops = hops_of(path, self.found.graph, self._node, self._edge)
        if not self._over_passages:
            hops.append(PathHop(Naming(self.context).node(row), "is mentioned in", 1.0))
        return Path(self._why(path.nodes[0]), tuple(hops), share)

    def _node(self, number: int) -> PathNode:
        """Return a node of the memory graph. Here phrases precede passages, unlike in `ppr`."""
        n_phrases, n_chunks = self._memory.n_phrases, len(self.context.chunks)
        return Naming(self.context).node(number - n_phrases if number >= n_phrases else number + n_chunks)

    def _why(self, seed: int) -> str:
        if not self._over_passages:
            return "the question names it, or something near to it in meaning"
        if seed >= self._memory.n_phrases:
            return "every passage begins with a little, the nearest to the question with most"
        of_seed = self.found.facts[(self._memory.facts[self.found.facts] == seed).any(axis=1)]
        return f"near to the question: {'; '.join(fact_sentences(self.context, of_seed))}"

    def _edge(self, source: int, end: int) -> str:
        """Return the label of an edge, as a verb from the first node to the second."""
        n_phrases = self._memory.n_phrases
        if source >= n_phrases or end >= n_phrases:
            return "mentions" if source >= n_phrases else "is mentioned in"
        ids = frozenset((self._node(source).id, self._node(end).id))
        if ids in _synonym_pairs(self.context):
            return "means nearly the same as"
        facts: Ints = self._memory.facts
        relations = self.context.index.each(Relation)
        there = np.flatnonzero((facts[:, 0] == source) & (facts[:, 1] == end))
        back = np.flatnonzero((facts[:, 0] == end) & (facts[:, 1] == source))
        verbs = dict.fromkeys(relations[row].predicate or "is related to" for row in there.tolist())
        turned = dict.fromkeys(f"(turned round) {relations[row].predicate or 'is related to'}" for row in back.tolist())
        return ", ".join([*verbs, *turned][:_MOST_PREDICATES])


@per_index
def _synonym_pairs(context: Context) -> set[frozenset[str]]:
    return {frozenset((pair.source_id, pair.target_id)) for pair in context.index.rows(Synonym)}


async def explain(
    context: Context,
    question: str,
    method: str = DEFAULT_RETRIEVER,
    k: int = 5,
    *,
    passage: int | None = None,
    chunk: str | None = None,
    paths: int = 5,
) -> Explanation:
    """Return why a method found its `k` best passages, at most `paths` paths for each.

    `passage` selects a single rank, `chunk` a single chunk id. With a walk (`ppr` and its variants) any chunk can be
    explained, including one that was not retrieved.

    Raises UnknownMethod for an unknown name; UsageError for a method that cannot be explained, both `passage` and
    `chunk`, a rank beyond `k`, or a chunk that is not in the index or not in the result.
    """
    find_method(method, context.settings)
    if method not in EXPLAINED:
        raise UsageError(f"the method {method!r} cannot be explained; those that can: {', '.join(EXPLAINED)}")
    if k < 1 or paths < 1:
        raise UsageError(f"k and paths must be at least 1, not {k} and {paths}")
    if passage is not None and chunk is not None:
        raise UsageError("a rank and a chunk id both name a passage; give one of them")
    if passage is not None and not 1 <= passage <= k:
        raise UsageError(f"there is no passage {passage} among the {k} best; ranks begin at 1")
    if chunk is not None and chunk not in context.chunk_rows:
        raise UsageError(f"the index has no chunk {chunk!r}; conspectus retrieve --json shows the ids")
    walk: WalkExplainer | MemoryExplainer | None = None
    found: list[Explained] = []
    if method == "ppr":
        ranking = rank_passages(context, question, k)
        if isinstance(ranking, Step):  # the reason why there is none
            return Explanation(question, method, "", tuple(_chosen([], passage, chunk)), (ranking,))
        walk, formula, trace = WalkExplainer(context, question, ranking, paths), FORMULA, ranking.trace()
    elif method in MEMORIES:
        retriever, formula = MEMORIES[method]
        memory = await retriever(context).rank(question, k)
        trace = memory.trace
        if isinstance(memory, Evidence):  # the fallback's result
            formula, (_, found) = "cosine", await _by_meaning(context, question, k)
        else:
            walk = MemoryExplainer(context, method, memory, paths)
    else:
        formula, explain_baseline = _EXPLAIN_BASELINE[method]
        evidence, found = await explain_baseline(context, question, k)
        trace = evidence.trace
    if walk:
        rows = [context.chunk_rows[chunk]] if chunk else walk.best(k)
        found = [walk.explained(row) for row in (rows if passage is None else rows[passage - 1 : passage])]
    return Explanation(question, method, formula, tuple(_chosen(found, passage, chunk)), trace)


def _chosen(found: Sequence[Explained], passage: int | None, chunk: str | None) -> list[Explained]:
    """Return the selected passage, or all."""
    if passage is None and chunk is None:
        return list(found)
    wanted = [result for result in found if result.rank == passage or result.passage.chunk_id == chunk]
    if not wanted:
        which = f"passage {passage}" if chunk is None else f"chunk {chunk!r}"
        raise UsageError(f"{which} is not in the result, which has {len(found)} passages; raise k or ask otherwise")
    return wanted


async def _by_words(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Explain BM25: the parts of a score are the question's words."""
    found = await Bm25Retriever(context).retrieve(question, k)
    asked = open_question(context, question)
    counts = Counter(asked.content_words.split())
    scores = {word: context.bm25.scores(word, asked.language) * count for word, count in counts.items()}

    def parts(passage: Passage) -> tuple[ScorePart, ...]:
        row = context.chunk_rows[passage.chunk_id]
        held = sorted(((float(score[row]), word) for word, score in scores.items() if score[row] > 0), reverse=True)
        words = tuple(ScorePart(word, value, "a word of the question") for value, word in held)
        return (*words, *_exchanged(asked, passage.score - sum(value for value, _ in held)))

    return found, _ranked(found, {passage.chunk_id: parts(passage) for passage in found.passages})


async def _by_meaning(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Explain dense retrieval: a score is a cosine."""
    found = await DenseRetriever(context).retrieve(question, k)
    asked = open_question(context, question)
    rows = np.array([context.chunk_rows[passage.chunk_id] for passage in found.passages], np.int64)
    cosines = context.chunk_vectors.scores(asked.vector[np.newaxis], rows)[0] if len(rows) else ()
    return found, _ranked(
        found,
        {
            passage.chunk_id: (
                ScorePart("cosine", float(cosine), "with the question"),
                *_exchanged(asked, passage.score - float(cosine)),
            )
            for passage, cosine in zip(found.passages, cosines, strict=True)
        },
    )


def _exchanged(asked: Question, gain: float) -> tuple[ScorePart, ...]:
    """Return what a passage gains by an exchange of places with one of its document, if the question names a time."""
    return (ScorePart("time", gain, "by its dates it has the place of another passage"),) if asked.time else ()


async def _by_ranks(context: Context, question: str, k: int) -> tuple[Evidence, list[Explained]]:
    """Explain reciprocal rank fusion: the parts of a score come from the two ranks."""
    found, words, meaning = await asyncio.gather(
        HybridRetriever(context).retrieve(question, k),
        Bm25Retriever(context).retrieve(question, max(k, RRF_DEPTH)),
        DenseRetriever(context).retrieve(question, max(k, RRF_DEPTH)),
    )
    parts: dict[str, list[ScorePart]] = {}
    weights = fusion_weights(context, question)
    for name, ranking, weight in zip(("bm25", "dense"), (words, meaning), weights, strict=True):
        for rank, passage in enumerate(ranking.passages, start=1):
            part = ScorePart(name, weight / (RRF_CONSTANT + rank), f"rank {rank}, with score {passage.score:.4f}")
            parts.setdefault(passage.chunk_id, []).append(part)
    return found, _ranked(found, {id_: tuple(part) for id_, part in parts.items()})


def _ranked(found: Evidence, parts: dict[str, tuple[ScorePart, ...]]) -> list[Explained]:
    return [Explained(rank, passage, parts[passage.chunk_id]) for rank, passage in enumerate(found.passages, start=1)]


_EXPLAIN_BASELINE: dict[str, tuple[str, Callable[[Context, str, int], Awaitable[tuple[Evidence, list[Explained]]]]]] = {
    "bm25": ("the sum over the question's words", _by_words),
    "dense": ("cosine", _by_meaning),
    "hybrid": ("bm25 + dense", _by_ranks),
}
"""The formula of a baseline, and the function that finds and explains its passages."""
EXPLAINED = ("ppr", *MEMORIES, *_EXPLAIN_BASELINE)
"""The methods that can be explained."""
