"""The evidence of a beam search: texts behind its candidates, the passages it found, and the answer that cites them.

ToG-2 (Ma et al. 2024, section 3.2, "knowledge-guided context retrieval"): the chunks of every candidate are scored
together with the triple that led to it. On a graph without documents, verbalised triples replace the chunks.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from conspectus.prompts.embedding.reranker import open_reranker
from conspectus.query.answer_writing.asked import asked_of
from conspectus.query.answer_writing.extractive import choose, quoted_instead
from conspectus.query.answer_writing.quotes import Quote, quotes_for
from conspectus.query.answer_writing.short_answer import short_answer
from conspectus.query.answer_writing.support import unsupported
from conspectus.query.answering import Assembly
from conspectus.query.citations.marks import BEST_EFFORT, UNVERIFIED
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import CONTEXT_CHUNKS, BeamPath, BeamState, EvidenceText, hops_to
from conspectus.query.types import Answer, Evidence, Passage
from conspectus.query.walk.decisions import WalkLog
from conspectus.query.walk.graph import WalkGraph, is_id, near_names, open_walk_graph, predicate_words, sentence, spoken
from conspectus.query.walk.passages import (
    chunks_named_in,
    has_documents,
    nearest_chunks,
    open_entity_chunks,
    rank_passages,
    unanswered,
)
from conspectus.query.walk.provenance import answer_by_triples, open_grounds
from conspectus.storage.errors import SettingsError
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    from conspectus.query.methods.tog.by_reading import ReadingWalk

# Texts behind candidates

_CHUNKS_PER_CANDIDATE = 10
"""Number of chunks of a candidate, nearest to the query, that are scored."""
_ENTITIES_PER_CANDIDATE = 5
"""Number of entities of a candidate whose chunks are considered."""


def texts_of(context: Context, query: str, candidates: Sequence[BeamPath], most: int) -> list[EvidenceText]:
    """Return the texts by which candidates are scored: their chunks, each with the last triple of the path.

    For candidates that no document mentions they are the verbalised triples, at most `most` in all, taken from the
    candidates in turn, so that the walk can continue on the graph.
    """
    graph = open_walk_graph(context)
    if not has_documents(context):
        return _triples(context, candidates, most)
    chunks = open_entity_chunks(context)
    found = []
    for owner, path in enumerate(candidates):
        entities = path.entities[:_ENTITIES_PER_CANDIDATE].tolist()
        rows = {row for entity in entities for row in chunks.mentioning(entity)}
        relation = path.last_relation
        triple = f"{sentence(graph, relation)} : " if relation >= 0 else ""
        for row, cosine in nearest_chunks(context, query, rows, _CHUNKS_PER_CANDIDATE):
            text = _text_of_chunk(context, row, cosine)
            found.append(replace(text, owner=owner, text=f"{triple}{text.text}", relation=relation))
    mentioned = {text.owner for text in found}
    unmentioned = [owner for owner in range(len(candidates)) if owner not in mentioned]
    told = _triples(context, [candidates[owner] for owner in unmentioned], most)
    return found + [replace(text, owner=unmentioned[text.owner]) for text in told]


def each_once(texts: Sequence[EvidenceText], most: int) -> list[EvidenceText]:
    """Return the best texts, with each passage and each bare triple once, at its best score."""
    found: dict[object, EvidenceText] = {}
    for text in sorted(texts, key=lambda item: -item.score):
        found.setdefault(text.passage.chunk_id if text.passage else ("triple", text.relation), text)
    return list(found.values())[:most]


def _triples(context: Context, candidates: Sequence[BeamPath], most: int) -> list[EvidenceText]:
    graph = open_walk_graph(context)
    found: list[EvidenceText] = []
    turn = 0
    while len(found) < max(most, len(candidates)):
        added = [
            (owner, int(path.edges[-1].relation[turn]))
            for owner, path in enumerate(candidates)
            if path.edges and turn < len(path.edges[-1].relation)
        ]
        if not added:
            break
        found += [EvidenceText(owner, sentence(graph, row), row) for owner, row in added]
        turn += 1
    return found


def _text_of_chunk(context: Context, row: int, cosine: float) -> EvidenceText:
    passage = context.passage(row, cosine)
    return EvidenceText(-1, f"{passage.title}\n{passage.text}".strip(), -1, passage, max(0.0, cosine))


def rank_texts(context: Context, query: str, texts: Sequence[EvidenceText], scorer: str) -> list[EvidenceText]:
    """Return texts with scores ≥ 0 of a scorer other than a language model, best first, ties in the order given.

    Args:
        context: The open index.
        query: The question, followed by the next query of the walk.
        texts: Chunks with their cosine as score, or triples.
        scorer: `embedding` is the mean cosine of the query with the chunk and with the triple; `rerank` the logistic
            of the cross-encoder's logit; `bm25` scores the chunk's words; for a bare triple it counts the words shared
            with the query.

    Raises:
        SettingsError: The scorer is `rerank` and rerank.model is not set.
    """
    if scorer == "embedding" or not texts:
        return _best_first(_by_embedding(context, query, texts))
    if scorer == "bm25":
        return _best_first(_by_words(context, query, texts))
    if not context.settings.rerank.is_set:
        raise SettingsError("tog.scorer is 'rerank': set rerank.model to the folder of a cross-encoder")
    logits = open_reranker(context.settings.rerank).scores(query, [text.text for text in texts])
    chances = 1 / (1 + np.exp(-np.asarray(logits, np.float64)))
    return _best_first([replace(text, score=float(chance)) for text, chance in zip(texts, chances, strict=True)])


def _by_embedding(context: Context, query: str, texts: Sequence[EvidenceText]) -> list[EvidenceText]:
    embedder, graph = context.embedder, open_walk_graph(context)
    relations = sorted({text.relation for text in texts if text.relation >= 0})
    vectors = embedder.embed([embedder.windows(sentence(graph, row))[0] for row in relations]) if relations else None
    cosines = (vectors @ embedder.embed_query(query)).tolist() if vectors is not None else []
    of_triple = dict(zip(relations, cosines, strict=True))
    found = []
    for text in texts:
        parts = [text.passage.score] if text.passage else []
        parts += [of_triple[text.relation]] if text.relation >= 0 else []
        found.append(replace(text, score=max(0.0, sum(parts) / len(parts)) if parts else 0.0))
    return found


def _by_words(context: Context, query: str, texts: Sequence[EvidenceText]) -> list[EvidenceText]:
    asked = {word.key for word in words(query)}
    scores = context.bm25.scores(query) if has_documents(context) else np.zeros(0)

    def score(text: EvidenceText) -> float:
        if text.passage is not None:
            return float(scores[context.chunk_rows[text.passage.chunk_id]])
        return float(len(asked & {word.key for word in words(text.text)}))

    return [replace(text, score=score(text)) for text in texts]


def _best_first(texts: Sequence[EvidenceText]) -> list[EvidenceText]:
    return sorted(texts, key=lambda text: -text.score)


def most_relevant(context: Context, question: str, entities: Sequence[int], most: int) -> list[int]:
    """Return the entities of a hub whose names are nearest to the question, ascending; those without a vector last."""
    if len(entities) <= most:
        return list(entities)
    near = near_names(context, question, entities)
    order = np.argsort(-near, kind="stable")[:most]
    return sorted(int(entities[place]) for place in order)


# Passages found during a walk

_NAMED = 0.25
"""Bonus of a passage whose title is a topic or another name in the question."""
_WALKED = 0.1
"""Weight of the walk's score of a passage, times its cosine with the question."""


class WalkPassages:
    """Collects the passages of one walk and ranks them together with those nearest to the question."""

    def __init__(self, context: Context, question: str) -> None:
        self._context = context
        self._question = question
        self._topical: set[int] = set()
        self._walked: dict[int, float] = {}

    def of_topics(self, topics: Sequence[int], most: int) -> list[EvidenceText]:
        """Return the chunks of the topics' documents nearest to the question (Ctx_0), or of all documents if there
        are none."""
        context = self._context
        if not has_documents(context):
            return []
        chunks = open_entity_chunks(context)
        titled = {row for topic in topics for row in chunks.titled(topic)}
        self._topical = titled | chunks_named_in(context, self._question)
        if self._topical:
            near = nearest_chunks(context, self._question, self._topical, most)
        else:
            vector = context.embedder.embed_query(self._question)[np.newaxis]
            cosines, rows = context.chunk_vectors.search(vector, most)
            near = list(zip(rows[0].tolist(), cosines[0].tolist(), strict=True))
        return [_text_of_chunk(context, row, float(cosine)) for row, cosine in near]

    def add(self, texts: Sequence[EvidenceText]) -> None:
        """Add the passages of a round, scored relative to the best; a passage has its best score of all rounds."""
        rows = self._context.chunk_rows
        most = max((text.score for text in texts), default=0.0) or 1.0
        for text in texts:
            if text.passage is not None:
                row = rows[text.passage.chunk_id]
                self._walked[row] = max(self._walked.get(row, 0.0), text.score / most)

    def best(self, most: int = CONTEXT_CHUNKS) -> tuple[Passage, ...]:
        """Return the `most` best passages; empty without documents."""
        context = self._context
        if not has_documents(context):
            return ()
        bonus: dict[int, float] = defaultdict(float)
        for row in self._topical:
            bonus[row] += _NAMED
        for row, cosine in nearest_chunks(context, self._question, self._walked, len(self._walked)):
            bonus[row] += _WALKED * self._walked[row] * cosine
        return rank_passages(context, self._question, bonus, most)


# Sentences about the end of a path

_MOST_ENDS = 3
"""Maximum end entities of a path whose documents are searched; with more it is unclear which is meant."""
_PASSAGES_READ = 5
"""Number of passages about an entity, nearest to the clue, that are read."""
_LEAST_SHARE = 0.5
"""Minimum share of the unmatched words, without names, that the sentences must contain."""


@dataclass(frozen=True, slots=True)
class QuotesBehindPath:
    """Sentences about the end of a path that contain the unmatched words; `score` combines theirs and the path's."""

    entity: int
    path: BeamPath
    clue: str
    quotes: tuple[Quote, ...]
    score: float


def read_behind_paths(context: Context, walk: "ReadingWalk") -> QuotesBehindPath | None:
    """Return the sentences that best match the unmatched words of a path of a walk, or None.

    This is how ToG-2 combines graph and documents without a model: the documents about the entity at the end of a path
    are searched for the clue, i.e. the unmatched words of the question, and the entity's name.
    """
    found: list[QuotesBehindPath] = []
    for path in walk.visited:
        if len(path.entities) <= _MOST_ENDS:
            found += _read_behind(context, path, walk)
    return max(found, key=lambda quotes: (quotes.score, -len(quotes.path.relations)), default=None)


def _read_behind(context: Context, path: BeamPath, walk: "ReadingWalk") -> list[QuotesBehindPath]:
    graph = open_walk_graph(context)
    clue, path_score = walk.clue(path), walk.score(path)
    weights = asked_of(context, clue).weights
    found = []
    for entity in path.entities.tolist():
        named = {context.bm25.term(word.key) for word in words(spoken(graph.names[entity]))}
        rows = open_entity_chunks(context).mentioning(entity)
        open_weight = sum(weight for word, weight in weights.items() if word not in named)
        if not rows or not open_weight:
            continue
        passages = [context.passage(row, cosine) for row, cosine in nearest_chunks(context, clue, rows, _PASSAGES_READ)]
        quotes = quotes_for(context, clue, passages)
        chosen = choose(context, clue, quotes, context.settings.answer.sentences)
        chosen = [quote for quote in chosen if (quote.covers | quote.near) - named]  # contains more than the name
        if not chosen or unsupported(context, clue, quotes, chosen)[0]:
            continue
        covered = frozenset[str]().union(*(quote.covers | quote.near for quote in chosen)) - named
        share = sum(weights[word] for word in covered) / open_weight
        if share < _LEAST_SHARE:
            continue
        quality = (share + max(quote.cosine for quote in chosen)) / 2
        found.append(QuotesBehindPath(entity, path, clue, tuple(chosen), path_score + (1 - path_score) * quality))
    return found


def stated_in_documents(context: Context, relations: Sequence[int]) -> bool:
    """Return whether documents state one of some relations, so that they can be quoted; true without relations."""
    return not relations or any(open_grounds(context).spans(row) for row in relations)


# Answers


def beam_answer(
    assembly: Assembly, context: Context, state: BeamState, log: WalkLog, passages: tuple[Passage, ...] = ()
) -> Answer:
    """Return the answer of a walk's verdict, citing first its triples, then its passages.

    An insufficient verdict is marked as a best effort, an answer without support in the shown evidence as unverified.
    """
    verdict = state.verdict
    if verdict.repeats and passages:
        evidence = Evidence(passages, trace=log.steps(), walk=log.trace())
        return quoted_instead(assembly, context, evidence)
    assembly.add(*log.steps())
    assembly.depth = state.depth
    evidence = Evidence(passages, trace=tuple(assembly.trace), walk=log.trace())
    if not verdict.text:
        return assembly.assemble(unanswered(context, assembly.question), evidence=evidence)
    answer = answer_by_triples(
        assembly,
        context,
        verdict.text,
        verdict.relations,
        passages=verdict.passages,
        names=verdict.names,
        evidence=evidence,
    )
    effort = BEST_EFFORT if not verdict.sufficient else "" if answer.citations or answer.triples else UNVERIFIED
    return replace(answer, text=f"{answer.text} {effort}".strip())


def answer_behind_path(assembly: Assembly, context: Context, behind: QuotesBehindPath, evidence: Evidence) -> Answer:
    """Return an answer that states the path and quotes sentences; triples are numbered first."""
    graph = open_walk_graph(context)
    relations = [hop.relation for hop in hops_to(behind.path, behind.entity)]
    grounds = open_grounds(context)
    citations = Citations(context)
    lines = []
    for number, quote in enumerate(behind.quotes, start=len(relations) + 1):
        if citations.number(quote.span, number):
            lines.append(f"{quote.text} [{number}]")
    path = "; ".join(f"{sentence(graph, row)} [{number}]" for number, row in enumerate(relations, start=1))
    short = short_answer(context, assembly.question, [quote.span for quote in behind.quotes], last_step=True)
    assembly.step("behind", f"{path}: {len(lines)} sentences quoted for {behind.clue!r}")
    assembly.depth = len(behind.path.relations)
    return assembly.assemble(
        "\n".join([*lines, f"({path})"]),
        citations=(*grounds.citations(relations), *citations.made()),
        evidence=replace(evidence, trace=tuple(assembly.trace)),
        dropped_citations=citations.dropped,
        names=(short,) if short else (),
        triples=grounds.triples(relations),
        span=short,
    )


# Evidence as shown in a prompt


@dataclass(slots=True)
class NumberedEvidence:
    """The evidence of a judgement as lines, and the items behind its numbers: relation rows and passages."""

    lines: list[str] = field(default_factory=list)
    items: list[int | Passage] = field(default_factory=list)

    def number(self, item: int | Passage, text: str) -> None:
        """Add an item with its number: the next one, or the number that it already has."""
        if item not in self.items:
            self.items.append(item)
        self.lines.append(f"[{self.items.index(item) + 1}] {text}")


def path_step(graph: WalkGraph, relation: int) -> str:
    """Return a triple as a drawn path: (Ada) -[born in]-> (Bern); ids without a name stay as they are."""
    ends = [graph.names[row[relation]] for row in (graph.sources, graph.targets)]
    source, target = (name if is_id(name) else spoken(name) for name in ends)
    words = predicate_words(graph.predicates[graph.stated[relation]])
    if not words:
        return f"({source}) - ({target}): {graph.descriptions[relation]}"
    return f"({source}) -[{words}]-> ({target})"


def with_title(passage: Passage) -> str:
    """Return a passage below the title of its document."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
