"""Plan relation paths, look them up in the graph, and plan again if they lead nowhere.

Luo et al. 2024, "Reasoning on Graphs" (arXiv 2310.01061, sections 4.1 to 4.3): relation paths are faithful plans, which
are grounded in the graph by a constrained search, and the reasoning sees the grounded paths. Chen et al. 2024,
"Plan-on-Graph" (arXiv 2410.23875, section 3): memory of what was tried, reflection, and backtracking. A round

1. plans: a model that is shown the predicates around the topics proposes relation paths from them;
2. grounds the plans: each step follows its predicate, or its reverse if the graph states only that. If no plan can be
   followed to its end, the partial paths are retained;
3. reasons over the paths found and the document texts that they lead to: an answer, or the facts known so far.

If the paths do not suffice, the model is shown in the next round what was tried, and plans again. After `plan.rounds` R
the model may answer from its own knowledge, and the answer is marked so: at most 2R + 1 calls.

Without a model, the best reading of the question answers (`methods/tog/by_reading.py`).

"How is X connected to Y?" is answered by the shortest paths between them, with or without a model, without any call.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import CountedModel, ask_for
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.context import Context
from conspectus.query.methods.plan.connecting_paths import (
    arrow,
    connecting_paths,
    connection,
    paths_considered,
    telling_paths,
)
from conspectus.query.methods.sparql import relevant
from conspectus.query.methods.tog.beam import (
    CONTEXT_CHUNKS,
    BeamPath,
    BeamState,
    DirectedPredicate,
    chain_to,
    follow,
    path_label,
    restrict,
)
from conspectus.query.methods.tog.by_reading import answer_by_reading
from conspectus.query.methods.tog.evidence import (
    WalkPassages,
    beam_answer,
    each_once,
    most_relevant,
    rank_texts,
    texts_of,
)
from conspectus.query.methods.tog.pruning_llm import LlmBeamPolicy
from conspectus.query.question.tasks import as_question
from conspectus.query.question.topics import find_topics, rows_of
from conspectus.query.types import Answer, Topics
from conspectus.query.types.trace import Considered, Hop
from conspectus.query.walk.decisions import WalkLog, failure_reason, log_verdict
from conspectus.query.walk.graph import (
    IncidentEdges,
    KnowledgeGraph,
    open_graph,
    predicate_vectors,
    predicate_words,
    spoken,
)
from conspectus.storage.errors import ModelError
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

STEP = "plan"
_TEMPERATURE, _MAX_TOKENS = 0.4, 1024
_WIDTH = 3  # paths that the model may propose in a round, as in Reasoning on Graphs
_SCHEMA_TOKENS = 1500
"""Maximum number of tokens for the predicates shown to a model, likeliest first."""
_MOST_STEPS = 4
"""Maximum number of steps of a relation path; a longer one is cut."""
_ENDS = 10
"""Maximum number of end entities per path: those shared with other paths and those nearest to the question."""
_LIKE = 0.6
"""Minimum cosine between a relation that the graph lacks and the predicate used instead."""


class PlannedPath(BaseModel):
    """A relation path from a model: the name of its start, and its relations; ^ marks a reversed relation."""

    start: str
    relations: list[str]


class PlanReply(BaseModel):
    """Relation paths, likeliest first."""

    reasoning: str = ""
    paths: list[PlannedPath]

    @classmethod
    def in_words(cls, reply: str) -> "PlanReply | None":
        """Parse paths drawn with arrows, one per line: Grey Heron -> directed_by -> born_in."""
        drawn = [[part.strip(' *`"()[]') for part in line.split("->")] for line in reply.splitlines() if "->" in line]
        paths = [PlannedPath(start=names[0].lstrip("0123456789.- "), relations=names[1:]) for names in drawn]
        return cls(paths=paths) if paths else None


@dataclass(frozen=True, slots=True)
class RelationPath:
    """A plan: its start entity, and predicates with directions."""

    start: int
    steps: tuple[DirectedPredicate, ...]

    def label(self, graph: KnowledgeGraph) -> str:
        """Return the plan as text."""
        said = (arrow(graph, step.predicate, outgoing=step.outgoing) for step in self.steps)
        return " ".join([spoken(graph.names[self.start]), *said])


class Plan(TopicMethod):
    """Answers from planned relation paths that are looked up in the graph, with or without a language model."""

    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        with assembling(question, self._name) as assembly:
            answer = connection(assembly, self._context, given)
            if answer is None and self._model:
                answer = await _Planner(self._context, self._model, assembly).run(given)
            elif answer is None:
                answer = answer_by_reading(assembly, self._context, given)
        return answer


class _Planner:
    """Plans, looks up paths, and reasons about one question with a model."""

    def __init__(self, context: Context, model: LanguageModel, assembly: Assembly) -> None:
        self._context = context
        self._graph = open_graph(context)
        self._model = CountedModel(model)
        self._assembly = assembly
        self._question = assembly.question
        self._policy = LlmBeamPolicy(context, self._model, assembly.question, combined=True, own_answer=True)
        self._passages = WalkPassages(context, assembly.question)
        self._log = WalkLog()
        self._tried: dict[RelationPath, str] = {}

    async def run(self, given: Sequence[str] | None) -> Answer:
        """Run the rounds and return the answer."""
        topics = find_topics(self._context, self._question, given, most=_WIDTH)
        self._assembly.add(topics.step)
        state = BeamState(self._question, self._joining(topics.rows))
        of_topics = self._passages.of_topics(topics.rows, CONTEXT_CHUNKS)
        for depth in range(1, self._context.settings.plan.rounds + 1) if topics.rows else ():
            plans, ended = await self._planned(state, topics, depth)
            state.paths = self._looked_up(state.paths, plans, depth)
            if not plans and (ended or not state.paths):
                break
            if not state.paths:
                continue  # the next round is shown what was tried
            state.depth = depth
            found = texts_of(self._context, self._question, state.paths, CONTEXT_CHUNKS)
            ranked = rank_texts(self._context, self._question, found, "embedding")
            self._passages.add(ranked)
            state.texts = each_once([*ranked, *of_topics], CONTEXT_CHUNKS)
            state.verdict = await self._policy.judge(state)
            log_verdict(self._log, "reasoning", depth, state.verdict, f"{len(state.paths)} paths")
            if state.verdict.sufficient:
                break
            state.clues = state.verdict.clues or state.clues
        self._log.chains += [chain_to(path, int(path.entities[0])) for path in state.paths if path.relations]
        if not state.verdict.sufficient:
            state.verdict = await self._policy.finish(state)
            log_verdict(self._log, "answer", state.depth, state.verdict)
        self._model.check(answered=bool(state.verdict.text))
        return beam_answer(self._assembly, self._context, state, self._log, self._passages.best())

    def _joining(self, topics: Sequence[int]) -> list[BeamPath]:
        """Return the shortest paths between the first two topics, which a question with two names often asks for."""
        if len(topics) < 2:
            return []
        found = connecting_paths(self._graph, topics[0], topics[1], longest=2, enough=_WIDTH)
        kept = telling_paths(self._graph, found)[:_WIDTH]
        self._log.add(
            "paths", 0, "", paths_considered(self._graph, kept), f"{len(kept)} of {len(found)} between the topics"
        )
        return [_as_beam(self._graph, path) for path in kept]

    async def _planned(self, state: BeamState, topics: Topics, depth: int) -> tuple[list[RelationPath], str]:
        """Return the model's new plans, and the reason if there are none."""
        graph = self._graph
        shown = relevant(self._context, self._question, topics.rows, _SCHEMA_TOKENS)
        prompt = messages(
            "query/plan",
            question=as_question(self._context.settings.tog.task, self._question),
            names="\n".join(graph.names[row] for row in topics.rows),
            predicates="\n".join(f"{one.predicate} ({one.count:,}): {one.subject} | {one.object}" for one in shown)
            or "(none)",
            tried="\n".join(f"{plan.label(graph)}: {why}" for plan, why in self._tried.items()) or "(nothing yet)",
            known=state.clues or "(nothing yet)",
            most=str(_WIDTH),
        )
        before, ended = self._model.calls, ""
        considered: list[Considered] = []
        plans: list[RelationPath] = []
        try:
            request = Request(prompt, STEP, max_tokens=_MAX_TOKENS, temperature=_TEMPERATURE)
            reply = await ask_for(self._model, request, PlanReply)
        except ModelError as error:
            ended = failure_reason(error)
        else:
            for planned in reply.paths[:_WIDTH]:
                plan, why = self._meant(planned, topics)
                new = plan is not None and plan not in self._tried and plan not in plans
                label = plan.label(graph) if plan else " -> ".join([planned.start, *planned.relations])
                considered.append(Considered(label, new, why or ("planned" if new else "tried before")))
                if plan is not None and new:
                    plans.append(plan)
            ended = "" if plans else "the model plans nothing new"
        outcome = f"{len(plans)} planned" + (f" ({ended})" if ended else "")
        self._log.add("plans", depth, "", considered, outcome, self._model.calls - before)
        return plans, ended

    def _meant(self, planned: PlannedPath, topics: Topics) -> tuple[RelationPath | None, str]:
        """Return a planned path in the graph's rows and predicate numbers, or the reason why it cannot be mapped."""
        key = entity_key(spoken(planned.start))
        named = [row for row in topics.rows if entity_key(spoken(self._graph.names[row])) == key]
        rows = named or list(rows_of(self._context, [planned.start])[0])
        if not rows:
            return None, f"the graph has nothing called {planned.start!r}"
        steps: list[DirectedPredicate] = []
        for relation in planned.relations[:_MOST_STEPS]:
            number = self._predicate(relation.strip().lstrip("^"))
            if number < 0:
                return None, f"the graph has no relation like {relation!r}"
            steps.append(DirectedPredicate(number, not relation.strip().startswith("^")))
        return (RelationPath(rows[0], tuple(steps)), "") if steps else (None, "it has no relations")

    def _predicate(self, said: str) -> int:
        """Return the number of the predicate with this text, or of the nearest one by meaning; -1 for none."""
        words = predicate_words(said)
        for number, predicate in enumerate(self._graph.predicates):
            if said == predicate or words == predicate_words(predicate):
                return number
        if not (words.strip() and len(self._graph.predicates)):
            return -1
        near = predicate_vectors(self._context) @ self._context.embedder.embed([words])[0]
        best = int(near.argmax())
        return best if near[best] >= _LIKE else -1

    def _looked_up(self, before: list[BeamPath], plans: Sequence[RelationPath], depth: int) -> list[BeamPath]:
        """Return the paths of the plans, one for each end entity, followed by those of earlier rounds.

        Partial paths are used only if no plan can be followed to its end. Ends shared by several plans come first.
        """
        graph = self._graph
        grounded = [(plan, follow(graph, plan.start, plan.steps)) for plan in plans]
        whole = [path for plan, path in grounded if len(path.relations) == len(plan.steps)]
        kept = whole or [path for _, path in grounded if path.relations]
        considered = []
        for plan, path in grounded:
            far = len(path.relations)
            why = f"leads to {path_label(graph, path)}" if far == len(plan.steps) else (
                f"leads nowhere after {far} of {len(plan.steps)} steps")  # fmt: skip
            self._tried[plan] = why
            considered.append(Considered(plan.label(graph), any(path is each for each in kept), why))
        if plans:
            self._log.add("entities", depth, "", considered, f"{len(kept)} of {len(plans)} plans hold")
        often = Counter(row for path in kept for row in path.entities.tolist())
        split = []
        for path in kept:
            ends = most_relevant(self._context, self._question, path.entities.tolist(), _ENDS)
            shared = [row for row in path.entities.tolist() if often[row] > 1][:_ENDS]
            ordered = sorted(dict.fromkeys([*shared, *ends]), key=lambda row: -often[row])
            split.append([restrict(path, [row]) for row in ordered[:_ENDS]])
        turns = [path for turn in zip_longest(*split) for path in turn if path is not None]
        return [*turns, *before]


def _as_beam(graph: KnowledgeGraph, path: tuple[Hop, ...]) -> BeamPath:
    steps = tuple(DirectedPredicate(int(graph.stated[hop.relation]), hop.outgoing) for hop in path)
    edges = tuple(
        IncidentEdges(
            np.array([hop.start]),
            np.array([hop.end]),
            graph.stated[[hop.relation]],
            np.array([hop.relation]),
            np.array([hop.outgoing]),
        )
        for hop in path
    )
    return BeamPath(np.array([path[-1].end]), steps, edges)
