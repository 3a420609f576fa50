"""One-step baselines: facts around the topic entities, retrieved once without a walk.

    kaping  the nearest triples within a few hops (1-d 1-w; Baek, Aji and Saffari 2023)
    groups  the nearest Louvain communities of neighbours (FastToG's baseline 1-d n-w)
    mixed   the nearest triples and the nearest passages together; needs a model

With a model, one call answers from the numbered facts. Without one, the nearest triple answers, together with triples
that share its predicate, direction and near end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.query.abstention import uncited
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.citations.marks import UNVERIFIED
from conspectus.query.context import Context
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.query.methods.fasttog.communities import louvain, members, small_graph
from conspectus.query.methods.fasttog.local_search import neighbourhood
from conspectus.query.question.tasks import prompt_for
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Answer, Evidence, Passage, Step
from conspectus.query.types.trace import Chain, Considered, Decision, Hop, WalkTrace
from conspectus.query.walk.graph import (
    KnowledgeGraph,
    around,
    names_as_written,
    open_graph,
    predicate_vectors,
    sentence,
    spoken,
)
from conspectus.query.walk.provenance import answer_by_triples, open_grounds
from conspectus.query.walk.verdicts import FactsReply, answer_from_facts
from conspectus.storage.arrays import Ints
from conspectus.storage.errors import BadAnswer
from conspectus.storage.hashing import digest

STEP = "facts"
_CANDIDATES = 64
"""Number of triples embedded per question, those of the nearest predicates: some 0.2 seconds."""
_GROUP_HOPS, _GROUP_NODES, _GROUP_SIZE, _GROUPS = 2, 100, 4, 3
"""Groups: reach and size of the neighbourhood, entities per group, groups read; as in FastToG's comparison."""
_SEED = 7


@dataclass(frozen=True, slots=True)
class NearTriple:
    """A relation (its row), its cosine with the question, and its ends; `near` is the end closer to the topics."""

    relation: int
    cosine: float
    near: int
    far: int
    outgoing: bool
    """Whether it is walked from its source."""

    @property
    def hop(self) -> Hop:
        """The triple as a step of a walk."""
        return Hop(self.relation, self.near, self.far, self.outgoing)


def nearest(
    context: Context, question: str, relations: Ints, distance: Ints, *, most: int, candidates: int
) -> list[NearTriple]:
    """Return the `most` relations whose sentences are nearest to the question, ties by their rows.

    If there are more than `candidates`, only those with the nearest predicates are compared, ties by topic distance.
    """
    graph = open_graph(context)
    if not len(relations):
        return []
    vector = context.embedder.embed_query(question)
    if len(relations) > candidates:
        predicates = np.round(predicate_vectors(context) @ vector, 6)[graph.stated[relations]]
        reach = np.minimum(_far(distance, graph.sources[relations]), _far(distance, graph.targets[relations]))
        relations = relations[np.lexsort((relations, reach, -predicates))[:candidates]]
    embedder = context.embedder
    said = [embedder.windows(sentence(graph, int(row)))[0] for row in relations]  # a description may be long
    cosines = np.round(embedder.embed(said) @ vector, 6)
    order = np.lexsort((relations, -cosines))[:most]
    return [_near(graph, int(relations[place]), float(cosines[place]), distance) for place in order]


def considered(
    graph: KnowledgeGraph, triples: Sequence[NearTriple], kept: Sequence[NearTriple]
) -> tuple[Considered, ...]:
    """Return triples as candidates of a decision, for the trace."""
    chosen = {item.relation for item in kept}
    return tuple(
        Considered(
            sentence(graph, triple.relation),
            triple.relation in chosen,
            "same predicate and entity as the best" if triple.relation in chosen else "another predicate or entity",
            triple.cosine,
        )
        for triple in triples
    )


def alike(graph: KnowledgeGraph, triples: Sequence[NearTriple]) -> list[NearTriple]:
    """Return the best triple and those with the same predicate, direction and near end."""
    if not triples:
        return []
    best = triples[0]
    return [
        triple
        for triple in triples
        if (triple.near, triple.outgoing, graph.stated[triple.relation])
        == (best.near, best.outgoing, graph.stated[best.relation])
    ]


def _near(graph: KnowledgeGraph, relation: int, cosine: float, distance: Ints) -> NearTriple:
    source, target = int(graph.sources[relation]), int(graph.targets[relation])
    if _far(distance, np.array([target]))[0] < _far(distance, np.array([source]))[0]:
        return NearTriple(relation, cosine, target, source, False)
    return NearTriple(relation, cosine, source, target, True)


def _far(distance: Ints, rows: Ints) -> Ints:
    """Return the distances, with unreachable entities farther than all others."""
    found: Ints = np.where(distance[rows] < 0, np.iinfo(np.int64).max, distance[rows])
    return found


@dataclass(frozen=True, slots=True)
class RetrievedFacts:
    """The facts retrieved around the topics, best first, and the decisions for the trace."""

    triples: tuple[NearTriple, ...]
    decisions: tuple[Decision, ...]

    @property
    def ends(self) -> set[int]:
        """The entities at the ends of the triples."""
        return {end for triple in self.triples for end in (triple.near, triple.far)}


def nearest_triples(context: Context, question: str, topics: Sequence[int]) -> RetrievedFacts:
    """Return the `kaping.triples` nearest triples within `kaping.hops`."""
    chosen = context.settings.kaping
    relations, distance = around(open_graph(context), topics, chosen.hops)
    found = nearest(context, question, relations, distance, most=chosen.triples, candidates=_CANDIDATES)
    outcome = f"{len(found)} nearest of {len(relations)} triples within {chosen.hops} hops"
    return RetrievedFacts(
        tuple(found), (Decision("triples", 1, _names(context, topics), (), outcome),) if topics else ()
    )


def nearest_groups(context: Context, question: str, topics: Sequence[int]) -> RetrievedFacts:
    """Return the triples of the `_GROUPS` groups of neighbours with the nearest triples."""
    graph = open_graph(context)
    if not topics:
        return RetrievedFacts((), ())
    sampled = neighbourhood(graph, tuple(topics), rho=1.0, max_hops=_GROUP_HOPS, max_nodes=_GROUP_NODES, seed=_SEED)
    outside = np.setdiff1d(sampled.nodes, np.array(topics, np.int64))
    ends = np.stack([sampled.sources, sampled.targets])
    in_groups = np.isin(ends, outside)
    place = np.searchsorted(outside, ends)
    inner = in_groups.all(axis=0)
    groups = members(louvain(small_graph(len(outside), place[:, inner].T), _GROUP_SIZE))
    distance = np.full(graph.n_entities, -1, np.int64)
    distance[sampled.nodes] = sampled.hops
    near = nearest(
        context,
        question,
        sampled.relations,
        distance,
        most=len(sampled.relations),
        candidates=_CANDIDATES,
    )
    group_of = {int(outside[node]): number for number, nodes in enumerate(groups) for node in nodes}
    kept: dict[int, list[NearTriple]] = {}
    for triple in near:  # best first: a group is as near as its best triple
        number = group_of.get(triple.far, group_of.get(triple.near, -1))
        if number in kept or len(kept) < _GROUPS:
            kept.setdefault(number, []).append(triple)
    outcome = f"{len(kept)} of {len(groups)} groups of at most {_GROUP_SIZE} neighbours"
    decision = Decision("communities", 1, _names(context, topics), (), outcome)
    return RetrievedFacts(tuple(triple for triples in kept.values() for triple in triples), (decision,))


class OneStep(TopicMethod):
    """Answers from the facts that `find` retrieves around the topics, with or without a language model."""

    find = staticmethod(nearest_triples)
    prompt = "query/answer/from_facts"

    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        with assembling(question, self._name) as assembly:
            topics = find_topics(self._context, question, given)
            assembly.add(topics.step)
            found = self.find(self._context, question, topics.rows)
            assembly.add(*(Step(decision.stage, decision.outcome) for decision in found.decisions))
            assembly.depth = 1 if found.triples else 0
            if self._model is None:
                return self._nearest(assembly, found)
            return await self._read(assembly, found, self._model)

    def _nearest(self, assembly: Assembly, found: RetrievedFacts) -> Answer:
        """Return the far ends of the best triple and of similar triples (see `alike`)."""
        graph = open_graph(self._context)
        kept = alike(graph, found.triples)
        names = tuple(dict.fromkeys(graph.names[triple.far] for triple in kept))
        assembly.step("answer", "the nearest triple answers")
        return self._made(assembly, ", ".join(map(spoken, names)), names, kept, found)

    async def _read(self, assembly: Assembly, found: RetrievedFacts, model: LanguageModel) -> Answer:
        """Return the model's answer from the facts: one call, and one more if the reply cannot be used."""
        graph, passages = open_graph(self._context), await self._passages(assembly.question)
        told = [sentence(graph, triple.relation) for triple in found.triples]
        lines = (f"[{number}] {fact}" for number, fact in enumerate(told, start=1))
        given = {"question": assembly.question, "facts": "\n".join(lines) or "(none)"}
        if passages is not None:
            texts = (f"[{i}] {passage.title}\n{passage.text}" for i, passage in enumerate(passages, start=1))
            given["passages"] = "\n\n".join(texts) or "(none)"
        prompt = messages(prompt_for(self._context.settings.tog.task, self.prompt), **given)
        sources = (
            *open_grounds(self._context).sources([triple.relation for triple in found.triples]),
            *(digest(passage.text) for passage in passages or ()),
        )
        request = Request(prompt, STEP, sources=tuple(dict.fromkeys(sources)))
        try:
            said, cited, why = await answer_from_facts(model, request, FactsReply, told)
        except BadAnswer as error:
            said, cited, why = FactsReply(answer=""), [], f"the reply cannot be used ({error.reason})"
        numbers = () if why else dict.fromkeys(said.passages)
        read = [passages[number - 1] for number in numbers if passages and 1 <= number <= len(passages)]
        kept = [found.triples[place] for place in cited if said.facts or not read]
        names = names_as_written(graph, said.names, found.ends)
        beside = "" if passages is None else f" and {len(passages)} passages"
        assembly.step("answer", why or f"the model read {len(told)} facts{beside}{uncited([*kept, *read])}")
        return self._made(assembly, "" if why else said.answer, names, kept, found, passages or (), read, calls=1)

    async def _passages(self, _question: str, /) -> Sequence[Passage] | None:
        """Return the passages that are read beside the facts; None if only facts are read."""
        return None

    def _made(
        self,
        assembly: Assembly,
        text: str,
        names: tuple[str, ...],
        kept: Sequence[NearTriple],
        found: RetrievedFacts,
        passages: Sequence[Passage] = (),
        cited: Sequence[Passage] = (),
        calls: int = 0,
    ) -> Answer:
        graph, rows = open_graph(self._context), [triple.relation for triple in kept]
        chains = tuple(Chain(((triple.near,), (triple.far,)), (triple.hop,)) for triple in kept)
        decision = Decision("answer", 1, "", considered(graph, found.triples, kept), text, calls=calls)
        evidence = Evidence(tuple(passages), walk=WalkTrace((*found.decisions, decision), chains))
        if not text:
            return assembly.no_answer(evidence)
        return answer_by_triples(
            assembly, self._context, text, rows, passages=cited, names=names, evidence=evidence, unproved=UNVERIFIED
        )


class Groups(OneStep):
    """Answers from the nearest groups of neighbours."""

    find = staticmethod(nearest_groups)


class Mixed(OneStep):
    """Answers from the nearest triples and the nearest passages together; needs a model."""

    prompt = "query/answer/mixed"

    async def _passages(self, question: str, /) -> Sequence[Passage]:
        count = self._context.settings.answer.passages
        return (await DenseRetriever(self._context).retrieve(question, count)).passages


def _names(context: Context, rows: Sequence[int] | Ints) -> str:
    names = open_graph(context).names
    return ", ".join(names[int(row)] for row in rows)
