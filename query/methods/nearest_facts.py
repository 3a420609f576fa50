"""One-step baselines: facts around the topic entities, retrieved once without a walk.

    kaping  the nearest triples within a few hops (1-d 1-w; Baek, Aji and Saffari 2023)
    groups  the nearest Louvain communities of neighbours (FastToG's baseline 1-d n-w)
    mixed   the nearest triples and the nearest passages together; needs a model

With a model, one call answers from the numbered facts. Without one, the nearest triple answers, together with triples
that share its predicate, direction and near end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.abstention import NO_ANSWER, is_unknown, uncited
from conspectus.query.answering import TopicMethod, assembling
from conspectus.query.citations.forms import Numbers
from conspectus.query.citations.marks import UNVERIFIED
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.query.methods.fasttog.communities import louvain, members, small_graph
from conspectus.query.methods.fasttog.local_search import neighbourhood
from conspectus.query.question.tasks import prompt_for
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Answer, Citation, Evidence, Passage, Say, Step
from conspectus.query.types.trace import Chain, Decision, WalkTrace
from conspectus.query.walk.graph import around, names_as_written, open_graph, sentence, spoken
from conspectus.query.walk.near_triples import NearTriple, alike, considered, nearest
from conspectus.query.walk.provenance import numbers_of, open_grounds
from conspectus.query.walk.verdicts import AnswerReply, mention
from conspectus.storage.arrays import Ints
from conspectus.storage.errors import BadAnswer
from conspectus.storage.hashing import digest
from conspectus.storage.records import Span
from pydantic import Field

STEP = "facts"
_CANDIDATES = 64
"""Number of triples embedded per question, those of the nearest predicates: some 0.2 seconds."""
_GROUP_HOPS, _GROUP_NODES, _GROUP_SIZE, _GROUPS = 2, 100, 4, 3
"""Groups: reach and size of the neighbourhood, entities per group, groups read; as in FastToG's comparison."""
_SEED = 7


class FactsReply(AnswerReply):
    """A model's answer, or "Unknown", also with the passages that it cites."""

    passages: Numbers = Field([])


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
    groups = members(louvain(small_graph(len(outside), place[:, inner].T), _GROUP_SIZE, seed=_SEED))
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

    async def _answer(self, question: str, given: Sequence[str] | None, say: Say) -> Answer:
        with assembling(question, self._name) as assembly:
            topics = find_topics(self._context, question, given)
            assembly.add(topics.step)
            found = self.find(self._context, question, topics.rows)
            assembly.add(*(Step(decision.stage, decision.outcome) for decision in found.decisions))
            if self._model is None:
                made = self._nearest(question, found)
            else:
                made = await self._read(question, found, self._model)
            say(made.text)
            assembly.depth = 1 if found.triples else 0
            return assembly.adopt(made)

    def _nearest(self, question: str, found: RetrievedFacts) -> Answer:
        """Return the far ends of the best triple and of similar triples (see `alike`)."""
        graph = open_graph(self._context)
        kept = alike(graph, found.triples)
        names = tuple(dict.fromkeys(graph.names[triple.far] for triple in kept))
        text = f"{', '.join(map(spoken, names))} {numbers_of(len(kept))}" if kept else NO_ANSWER
        decision = Decision("answer", 1, "", considered(graph, found.triples, kept), ", ".join(names))
        return self._made(question, text, names, kept, found, decision, Step("answer", "the nearest triple answers"))

    async def _read(self, question: str, found: RetrievedFacts, model: LanguageModel) -> Answer:
        """Return the model's answer from the facts: one call, and one more if the reply cannot be used."""
        graph, passages = open_graph(self._context), await self._passages(question)
        lines = (f"[{i}] {sentence(graph, triple.relation)}" for i, triple in enumerate(found.triples, start=1))
        given = {"question": question, "facts": "\n".join(lines) or "(none)"}
        if passages is not None:
            texts = (f"[{i}] {passage.title}\n{passage.text}" for i, passage in enumerate(passages, start=1))
            given["passages"] = "\n\n".join(texts) or "(none)"
        prompt = messages(prompt_for(self._context.settings.tog.task, self.prompt), **given)
        said, why = await self._asked(prompt, found, passages or (), model)
        kept, read = _chosen(found.triples, said.facts), _chosen(passages or (), said.passages)
        if passages is None and not (kept or why):  # it is supported by the triples that contain the named answer
            named = said.names or [said.answer]
            kept = [triple for triple in found.triples if mention(sentence(graph, triple.relation), named)][:1]
        citations = Citations(self._context)
        for number, passage in enumerate(read, start=len(kept) + 1):
            citations.number(Span(passage.document_id, passage.chunk_id, passage.start, passage.end), number)
        text = f"{said.answer.strip()} {numbers_of(len(kept) + len(read)) or UNVERIFIED}" if not why else NO_ANSWER
        names = names_as_written(graph, said.names, found.ends)
        decision = Decision("answer", 1, "", considered(graph, found.triples, kept), why or text, calls=1)
        beside = "" if passages is None else f" and {len(passages)} passages"
        step = Step("answer", why or f"the model read {len(found.triples)} facts{beside}{uncited([*kept, *read])}")
        return self._made(question, text, names, kept, found, decision, step, passages or (), citations.made())

    async def _passages(self, _question: str, /) -> Sequence[Passage] | None:
        """Return the passages that are read beside the facts; None if only facts are read."""
        return None

    async def _asked(
        self, prompt: tuple[Message, ...], found: RetrievedFacts, passages: Sequence[Passage], model: LanguageModel
    ) -> tuple[FactsReply, str]:
        """Return the model's reply, and the reason why it is no answer ("" if it is one)."""
        grounds = open_grounds(self._context)
        sources = (
            *grounds.sources([triple.relation for triple in found.triples]),
            *(digest(passage.text) for passage in passages),
        )
        request = Request(prompt, STEP, sources=tuple(dict.fromkeys(sources)))
        try:
            said = await ask_for(model, request, FactsReply)
        except BadAnswer as error:
            return FactsReply(answer=""), f"the reply cannot be used ({error.reason})"
        if is_unknown(said.answer):
            return FactsReply(answer=""), "the model does not know"
        return said, ""

    def _made(
        self,
        question: str,
        text: str,
        names: tuple[str, ...],
        kept: Sequence[NearTriple],
        found: RetrievedFacts,
        decision: Decision,
        step: Step,
        passages: Sequence[Passage] = (),
        more: Sequence[Citation] = (),
    ) -> Answer:
        grounds = open_grounds(self._context)
        rows = [triple.relation for triple in kept]
        chains = tuple(Chain(((triple.near,), (triple.far,)), (triple.hop,)) for triple in kept)
        return Answer(
            question=question,
            method=self._name,
            text=text,
            citations=(*grounds.citations(rows), *more),
            evidence=Evidence(tuple(passages), walk=WalkTrace((*found.decisions, decision), chains)),
            trace=(step,),
            names=names,
            triples=grounds.triples(rows),
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


Item = TypeVar("Item")


def _chosen(items: Sequence[Item], numbers: Sequence[int]) -> list[Item]:
    return [items[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(items)]


def _names(context: Context, rows: Sequence[int] | Ints) -> str:
    names = open_graph(context).names
    return ", ".join(names[int(row)] for row in rows)
