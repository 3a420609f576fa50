"""FastToG: reasoning on a knowledge graph community by community (Liang and Gu 2025).

With a model the calls are at most 1 for the subjects, 1 + W·D choices, 1 + D reasonings, and those of the fallback:
WD + D + 3 + f. Without one, closeness to the question decides in the model's place, and there is no fallback.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.prompts.model import LanguageModel
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answering import measured
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.chains import CommunityWalk, Walked
from conspectus.query.methods.fasttog.community_text import Community2Text, Triple2Text
from conspectus.query.methods.fasttog.local_search import LocalSearch
from conspectus.query.methods.fasttog.policy_llm import ModelDecider
from conspectus.query.methods.fasttog.policy_offline import NearestDecider
from conspectus.query.methods.fasttog.question_reading import read
from conspectus.query.methods.tog.predicate_similarity import closeness_to
from conspectus.query.question.question import span_vectors
from conspectus.query.question.topics import link_topics, rows_of
from conspectus.query.types import Answer, Evidence, Say, Step, Usage
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors, predicate_words
from conspectus.query.walk.provenance import Grounds, numbers_of, open_grounds
from conspectus.storage.arrays import Ints
from conspectus.storage.index import per_index
from conspectus.storage.records import Community, Entity


@dataclass(frozen=True, slots=True)
class _Subjects:
    """Entity rows that a walk starts from, and how they were found."""

    rows: tuple[int, ...]
    steps: tuple[Step, ...]


class FastToG:
    """Answers from chains of communities; with or without a language model."""

    def __init__(self, name: str, context: Context, model: LanguageModel | None) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._settings = context.settings.fasttog

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer of a walk from what the question names: the model says what that is, where there is one."""
        with measured() as measure:
            answer = await self._answered(question, await self._subjects(question), say)
        return replace(answer, usage=measure.usage(depth=answer.usage.depth))

    async def answer_about(self, question: str, topics: Sequence[str], say: Say) -> Answer:
        """Return the answer of a walk from entities of these names; one that the graph lacks is told in the trace."""
        with measured() as measure:
            answer = await self._answered(question, self._named(topics, "given"), say)
        return replace(answer, usage=measure.usage(depth=answer.usage.depth))

    async def _subjects(self, question: str) -> _Subjects:
        steps: tuple[Step, ...] = ()
        if self._model is not None:
            subjects, said = await self._asking(self._model).subjects(question)
            found = self._named(subjects, said)
            if found.rows:
                return found
            steps = found.steps
        rows = link_topics(self._context, question)
        names = ", ".join(open_graph(self._context).names[row] for row in rows) or "nothing"
        return _Subjects(rows, (*steps, Step("subjects", f"names of the graph in the question: {names}")))

    def _named(self, names: Sequence[str], said: str) -> _Subjects:
        rows, missing = rows_of(self._context, names)
        lacks = f"; the graph lacks {', '.join(missing)}" if missing else ""
        return _Subjects(rows, (Step("subjects", f"{said}: {', '.join(names) or 'nothing'}{lacks}"),))

    async def _answered(self, question: str, subjects: _Subjects, say: Say) -> Answer:
        graph = open_graph(self._context)
        search = self._search(graph, question)
        if self._model is not None:
            walked = await CommunityWalk(search, self._asking(self._model), question, subjects.rows).walk()
        else:
            nearest = self._near(graph, question, subjects.rows)
            walk = CommunityWalk(search, nearest, question, subjects.rows)
            walked = await walk.walk()
            walked = walked.ended(nearest.answer(walk.chains))
        steps = (*subjects.steps, *_told(walked))
        if walked.outcome.answered:
            return self._made(question, graph, walked, steps, say)
        if self._model is not None:
            return await self._fallen_back(question, walked, steps, say)
        say(NO_ANSWER)
        return Answer(
            question, self._name, NO_ANSWER, evidence=Evidence(walk=walked.trace), usage=_depth(walked), trace=steps
        )

    def _made(self, question: str, graph: KnowledgeGraph, walked: Walked, steps: tuple[Step, ...], say: Say) -> Answer:
        outcome = walked.outcome
        grounds = open_grounds(self._context)
        text = f"{outcome.text} {numbers_of(len(outcome.relations))}".strip()
        say(text)
        return Answer(
            question=question,
            method=self._name,
            text=text,
            citations=grounds.citations(outcome.relations),
            evidence=Evidence(walk=walked.trace),
            usage=_depth(walked),
            trace=steps,
            names=outcome.names,
            triples=grounds.triples(outcome.relations),
        )

    async def _fallen_back(self, question: str, walked: Walked, steps: tuple[Step, ...], say: Say) -> Answer:
        """Return what the model knows itself: the walk found no answer."""
        from conspectus.query.menu import METHODS

        fallback = self._settings.fallback
        answer = await METHODS[fallback].answerer(self._context).answer(question, say)
        step = Step(
            "fallback", f"the chains give no answer ({walked.outcome.why}): {fallback}, from no fact of the graph"
        )
        return replace(
            answer,
            method=self._name,
            evidence=Evidence(walk=walked.trace),
            usage=_depth(walked),
            trace=(*steps, step, *answer.trace),
        )

    def _search(self, graph: KnowledgeGraph, question: str) -> LocalSearch:
        chosen = self._settings
        closeness = closeness_to(self._context, graph, question) if chosen.semantic_weight else None
        hierarchy = finest_communities(self._context) if chosen.detection == "hierarchy" else None
        return LocalSearch(graph, chosen, closeness, hierarchy)

    def _asking(self, model: LanguageModel) -> ModelDecider:
        graph = open_graph(self._context)
        grounds: Grounds = open_grounds(self._context)
        task = self._context.settings.tog.task
        return ModelDecider(model, graph, self._text(graph), self._settings, grounds.sources, task)

    def _near(self, graph: KnowledgeGraph, question: str, subjects: tuple[int, ...]) -> NearestDecider:
        names = [graph.names[each] for each in subjects]
        reading = read(
            question,
            names,
            span_vectors(self._context),
            predicate_vectors(self._context),
            lambda number: predicate_words(graph.predicates[number]),
        )
        return NearestDecider(graph, reading, subjects)

    def _text(self, graph: KnowledgeGraph) -> Community2Text:
        if self._settings.text == "t2t":
            return Triple2Text(graph)
        from conspectus.query.methods.fasttog.graph2text import Graph2Text, open_graph2text

        return Graph2Text(graph, open_graph2text(self._settings.graph2text))


@per_index
def finest_communities(context: Context) -> Ints:
    """Return for each entity a number of the finest community of the index that holds it, -1 where none does."""

    import pyarrow as pa
    import pyarrow.compute as pc

    ids = context.index.arrow(Entity, "id").column("id").combine_chunks()
    table = context.index.arrow(Community, "level", "entity_ids")
    found = np.full(len(ids), -1, np.int64)
    levels = table.column("level").to_numpy()
    members = table.column("entity_ids").combine_chunks()
    members = members.combine_chunks() if isinstance(members, pa.ChunkedArray) else members
    for place in np.argsort(levels, kind="stable").tolist():
        rows = pc.index_in(members[place].values, value_set=ids).to_numpy()
        found[rows] = place
    return found


def _depth(walked: Walked) -> Usage:
    return Usage(depth=walked.depth)


def _told(walked: Walked) -> list[Step]:
    return [
        Step(each.stage, f"{f'round {each.depth}' if each.depth else 'start'}, {each.at}: {each.outcome}")
        for each in walked.trace.decisions
    ]
