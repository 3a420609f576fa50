"""ToG-2: a beam search over the graph that reads passages about the entities of its frontier at every step.

Ma et al. 2024, "Think-on-Graph 2.0: Deep and Faithful Large Language Model Reasoning with Knowledge-guided Retrieval
Augmented Generation" (arXiv 2407.10805, section 3). The walk keeps W paths:

0. Initialization (3.1): topic prune; the chunks of the topics' documents nearest to the question; a first judgement.
   Then, D rounds at most:
1. Relation discovery: Edge(e) = {(r, direction)} of every topic entity (equation 1).
2. Relation prune: the W best relations of every entity, in one call per entity (equation 2) or for all (equation 3).
3. Entity discovery: Tail(e, (r, direction)) (equation 4).
4. Context retrieval: s = DRM(q, [triple sentence : chunk]) of the chunks of every candidate (equation 5).
5. Entity prune: score(c) = Σ_k s_k · e^(-αk) · 1[the k-th best chunk is from c], the W best are kept (equation 6).
6. Reasoning over the paths and the best chunks: an answer, or clues and the next query.

Differences: the next query ("clue query" in "Three methods of graph RAG", IV-A) enters the relation prune and the
scores of chunks, as in the paper but not in its code. The verdict of the last round is a best effort.
With a model a walk takes at most 1 (topics) + 1 (their chunks) + D · (1 relations + 1 reasoning + 1 next query) =
3D + 2 calls, 2D + 2 without clue queries; with a relation prune per entity WD + 2D + 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from conspectus.prompts.language_model import LanguageModel
from conspectus.prompts.replies.structured import CountedModel
from conspectus.query.answer_writing.extractive import quote_evidence
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.graph_question.answer import answer_of, steps_of
from conspectus.query.graph_question.confidence import says_what_was_unmet
from conspectus.query.methods.tog.beam import (
    CONTEXT_CHUNKS,
    BeamPath,
    BeamState,
    EvidenceText,
    discover,
    extend,
    path_label,
    returns_to_start,
)
from conspectus.query.methods.tog.by_reading import ReadingWalk, read_from_topics, walk_of
from conspectus.query.methods.tog.evidence import (
    WalkPassages,
    answer_behind_path,
    beam_answer,
    each_once,
    read_behind_paths,
    stated_in_documents,
    texts_of,
)
from conspectus.query.methods.tog.pruning_llm import LlmBeamPolicy
from conspectus.query.methods.tog.tog import beam_search
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Answer, Evidence, Topics
from conspectus.query.types.trace import Considered
from conspectus.query.walk.decisions import WalkLog, log_choice, log_verdict
from conspectus.query.walk.graph import WalkGraph, open_walk_graph
from conspectus.query.walk.passages import has_documents, has_imported_graph

_ALPHA = 0.8  # the paper's: the first four chunks have 96 % of the weight
_MOST_SHOWN = 30
"""Maximum candidates of an entity prune in the trace."""


def score_entities(owners: Sequence[int], scores: Sequence[float], alpha: float = _ALPHA) -> dict[int, float]:
    """Return score(c) = Σ_k s_k · e^(-αk) of every candidate, over the ranks k = 1, 2, ... of its chunks (equation 6).

    Args:
        owners: The candidate of each chunk.
        scores: The score s ≥ 0 of each chunk; ranks are by falling score, ties in the order given.
        alpha: Decay of the weight with the rank.

    Returns:
        The score of each candidate that has a chunk.

    >>> score_entities([0, 1, 0], [0.9, 0.8, 0.1], alpha=0.0)
    {0: 1.0, 1: 0.8}
    """
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    found: dict[int, float] = {}
    for rank, place in enumerate(order, start=1):
        found[owners[place]] = found.get(owners[place], 0.0) + scores[place] * float(np.exp(-alpha * rank))
    return found


def _apart(candidates: Sequence[BeamPath], ranked: Sequence[int], most: int) -> list[int]:
    """Return the best candidates with different entities: the beam contains an entity once."""
    found: dict[tuple[int, ...], int] = {}
    for place in ranked:
        found.setdefault(tuple(candidates[place].entities.tolist()), place)
    return list(found.values())[:most]


@dataclass(slots=True, eq=False)
class Tog2Walk:
    """One walk of ToG-2 with a model."""

    context: Context
    policy: LlmBeamPolicy
    question: str
    log: WalkLog = field(default_factory=WalkLog)
    passages: WalkPassages = field(init=False)
    graph: WalkGraph = field(init=False)
    _read: list[EvidenceText] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.passages = WalkPassages(self.context, self.question)
        self.graph = open_walk_graph(self.context)

    async def run(self, topics: Sequence[int], *, given: bool = False) -> BeamState:
        """Walk from topics and return the final state with its verdict; topics that the user gave are not pruned."""
        settings = self.context.settings.tog
        kept = tuple(topics)
        if kept and not given:
            choice = await self.policy.keep_topics(kept)
            log_choice(self.log, "topics", 0, "", choice)
            kept = tuple(topics[place] for place in choice.kept)
        texts = self.passages.of_topics(kept, CONTEXT_CHUNKS)
        state = BeamState(self.question, self.policy.start(kept), texts)
        self._read = list(texts)
        state.verdict = await self.policy.judge(state)
        log_verdict(self.log, "reasoning", 0, state.verdict, "the topics' chunks")
        if state.verdict.sufficient:
            return state
        if kept:
            await self._refocus(state)
        await beam_search(
            state,
            self.policy,
            self.log,
            rounds=settings.depth,
            advance=self._advance,
            refocus=self._refocus,
            answer_in_last_round=True,
        )
        return state

    async def _advance(self, state: BeamState) -> list[BeamPath]:
        """One round up to the entity prune (steps 1 to 5)."""
        candidates = await self._candidates(state)
        if not candidates:
            return []
        query = f"{self.question} {state.query}".strip()
        texts = texts_of(self.context, query, candidates, max(CONTEXT_CHUNKS, len(candidates)))
        ranked = await self.policy.rank(state, candidates, texts)
        if ranked.calls or ranked.why:
            outcome = ranked.why or f"{len(ranked.texts)} scored by the model"
            self.log.add("chunks", state.depth, outcome=outcome, calls=ranked.calls)
        top = ranked.texts[:CONTEXT_CHUNKS]
        scores = score_entities([text.owner for text in top], [text.score for text in top])
        order = sorted(scores, key=lambda place: (-scores[place], place))
        kept = _apart(candidates, order, self.context.settings.tog.width)
        self._log_entities(state.depth, candidates, [text.owner for text in top], scores, kept)
        self.passages.add(ranked.texts)
        self._read = each_once([*top, *self._read], 2 * CONTEXT_CHUNKS)
        state.texts = self._read if state.last else each_once(self._read, CONTEXT_CHUNKS)
        return [candidates[place] for place in kept]

    async def _candidates(self, state: BeamState) -> list[BeamPath]:
        options = [discover(self.graph, path) for path in state.paths]
        choices = await self.policy.keep_relations(state, options)
        candidates: list[BeamPath] = []
        for path, offered, choice in zip(state.paths, options, choices, strict=True):
            log_choice(self.log, "relations", state.depth, path_label(self.graph, path), choice)
            for place in choice.kept:
                candidates += self.policy.candidates(extend(path, offered[place]))
        return [candidate for candidate in candidates if not returns_to_start(candidate)] or candidates

    async def _refocus(self, state: BeamState) -> None:
        """Set the next query from the clues so far."""
        state.clues = state.verdict.clues or state.clues
        if not self.context.settings.tog.clue:
            return
        query = await self.policy.next_query(state)
        state.query = query.text
        why = f" ({query.why})" if query.why else ""
        if query.text or query.calls:
            self.log.add("clue", state.depth, outcome=f"{query.text}{why}" or "none", calls=query.calls)

    def _log_entities(
        self,
        depth: int,
        candidates: Sequence[BeamPath],
        owners: Sequence[int],
        scores: dict[int, float],
        kept: Sequence[int],
    ) -> None:
        considered = [
            Considered(
                path_label(self.graph, path),
                place in kept,
                f"{owners.count(place)} of the best chunks",
                scores.get(place, 0.0),
            )
            for place, path in enumerate(candidates)
        ]
        considered.sort(key=lambda candidate: (not candidate.kept, -(candidate.score or 0.0)))
        self.log.add("entities", depth, "", considered[:_MOST_SHOWN], f"{len(kept)} of {len(candidates)} kept")


class Tog2(TopicMethod):
    """Answers from the graph and the documents; with or without a language model."""

    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        with assembling(question, self._name) as assembly:
            if self._model is None:
                return self._offline(assembly, given)
            topics = _linked(self._context, question, given)
            assembly.add(topics.step)
            return await self._with_model(self._model, assembly, topics, given=given is not None)

    async def _with_model(self, model: LanguageModel, assembly: Assembly, topics: Topics, *, given: bool) -> Answer:
        question = assembly.question
        counted = CountedModel(model)
        walk = Tog2Walk(self._context, _llm_policy(self._context, counted, question), question)
        state = await walk.run(topics.rows, given=given)
        counted.check(answered=bool(state.verdict.text))
        return beam_answer(assembly, self._context, state, walk.log, walk.passages.best())

    def _offline(self, assembly: Assembly, given: Sequence[str] | None) -> Answer:
        """Return the answer of the best reading, or sentences of the documents if the graph does not account for the
        question; if only documents state the graph, they are quoted."""
        context = self._context
        reading, topics = read_from_topics(context, assembly.question, given)
        assembly.add(topics.step)
        walk = ReadingWalk(context, assembly.question, reading, topics.rows)
        passages, imported = walk.passages.best(), has_imported_graph(context)
        evidence = Evidence(passages, trace=steps_of(context, reading), walk=walk_of(context, reading))
        stated = reading.answer.relations if reading.answer else ()
        own_graph = imported or not stated_in_documents(context, stated)
        if not has_documents(context) or (reading.answered and own_graph):
            return answer_of(assembly, context, reading, evidence)
        assembly.over(len(passages), 0)
        assembly.depth = max((len(path.relations) for path in walk.visited), default=0)
        quoted = quote_evidence(assembly, context, evidence)
        behind = None if quoted.known else read_behind_paths(context, walk)
        if behind:
            return answer_behind_path(assembly, context, behind, evidence)
        if imported and not (quoted.known and says_what_was_unmet(reading, quoted.text)):
            return answer_of(assembly, context, reading, evidence)
        return quoted


class Tog2Retriever(IndexRetriever):
    """Retrieves the passages found by a walk of ToG-2."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages: of the topics, of the entities that the walk kept, and of the question."""
        context, model = self._context, self._context.model
        if model is None:
            reading, topics = read_from_topics(context, question)
            passages = ReadingWalk(context, question, reading, topics.rows).passages.best(k)
            steps = (topics.step, *steps_of(context, reading))
            return Evidence(passages, trace=steps, walk=walk_of(context, reading))
        topics = _linked(context, question)
        walk = Tog2Walk(context, _llm_policy(context, model, question), question)
        await walk.run(topics.rows)
        return Evidence(walk.passages.best(k), trace=(topics.step, *walk.log.steps()), walk=walk.log.trace())


def _linked(context: Context, question: str, given: Sequence[str] | None = None) -> Topics:
    return find_topics(context, question, given, most=max(context.settings.tog.width, 3))


def _llm_policy(context: Context, model: LanguageModel, question: str) -> LlmBeamPolicy:
    return LlmBeamPolicy(context, model, question, combined=True, own_answer=False)
