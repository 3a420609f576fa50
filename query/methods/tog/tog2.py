"""ToG-2: a walk over the graph that reads, at every step, what the documents say of the entities it came to.

Ma et al. 2024, "Think-on-Graph 2.0" (arXiv 2407.10805, section 3 and appendix), with the clue query of "Three methods
of graph RAG", IV-A. What differs: the clue query enters the pruning of relations and the scoring of chunks, as the
paper says and its released code does not. With a model a walk of W entities and D rounds takes at most 1 (topics) + 1
(their chunks) + D·(1 relations + 1 reasoning + 1 next query) = 3D + 2 calls, 2D + 2 without clue queries; where
relations are pruned entity by entity W for 1: WD + 2D + 2 with clue queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import assembling, measured
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Branch, Option, discover, entity_scores, extend, leading, only
from conspectus.query.methods.tog.evidence import has_documents, material_of, scored
from conspectus.query.methods.tog.log import Found, Record, answered, named
from conspectus.query.methods.tog.passages import Reached
from conspectus.query.methods.tog.path_reader import answer_behind, best_behind
from conspectus.query.methods.tog.policy import Decides, Material, Ruling, Verdict
from conspectus.query.methods.tog.policy_llm import ModelDecider
from conspectus.query.methods.tog.policy_offline import OfflineDecider, open_decider
from conspectus.query.question.topics import link_topics, rows_of
from conspectus.query.reader.extractive import quote_evidence
from conspectus.query.types import Answer, Evidence, Passage, Say, Step, ignore_pieces
from conspectus.query.types.trace import Considered
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.storage.settings import TogSettings

_LEAST_MATCHED = 0.5
"""Where there are documents too, an answer from triples alone must match at least this share of the question."""


class Tog2:
    """Answers from the graph and the documents; with or without a language model."""

    def __init__(self, name: str, context: Context, model: LanguageModel | None) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._settings = context.settings.tog

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer of a walk from what the question names."""
        rows = link_topics(self._context, question, max(self._settings.width, 3))
        step = Step("topics", f"names of the graph in the question: {named(open_graph(self._context), rows)}")
        return await self._metered(question, rows, (step,), say)

    async def answer_about(self, question: str, topics: Sequence[str], say: Say) -> Answer:
        """Return the answer of a walk from entities of these names; one that the graph lacks is told in the trace."""
        rows, missing = rows_of(self._context, topics)
        lacks = f"; the graph lacks {', '.join(missing)}" if missing else ""
        return await self._metered(question, rows, (Step("topics", f"given: {', '.join(topics)}{lacks}"),), say)

    async def _metered(self, question: str, rows: tuple[int, ...], before: tuple[Step, ...], say: Say) -> Answer:
        with measured() as measure:
            answer = await self._answered(question, rows, before, say)
        return replace(answer, usage=measure.usage(depth=answer.usage.depth))

    async def _answered(self, question: str, rows: tuple[int, ...], before: tuple[Step, ...], say: Say) -> Answer:
        graph = open_graph(self._context)
        if self._model and self._settings.self_consistency:
            from conspectus.query.methods.direct import agreed

            said, step = await agreed(self._context, self._model, question)
            before = (*before, step)
            if said:
                say(said)
                return Answer(question, self._name, said, trace=before, names=(said,))
        search = Search(self._context, graph, self._model, question, rows)
        found = await search.run()
        offline = isinstance(search.decider, OfflineDecider)
        weak = offline and (search.decider.coverage() < _LEAST_MATCHED or not found.verdict.names)  # type: ignore[attr-defined]
        if offline and has_documents(self._context) and (weak or self._from_documents(graph, found)):
            evidence = Evidence(found.passages, trace=(*before, *search.record.steps()), walk=search.record.trace())
            with assembling(question, self._name) as assembly:
                assembly.over(len(found.passages), 0)
                read = quote_evidence(assembly, self._context, evidence, ignore_pieces)
            if not read.known and isinstance(search.decider, OfflineDecider):
                behind = best_behind(self._context, graph, search.walked, search.decider)
                if behind:
                    return answer_behind(
                        self._name, self._context, graph, question, behind, found, search.record, before, say
                    )
            say(read.text)
            return replace(read, usage=replace(read.usage, depth=found.depth))
        return answered(self._name, self._context, graph, question, found, search.record, before, say)

    def _from_documents(self, graph: KnowledgeGraph, found: Found) -> bool:
        """Tell whether the documents state what the answer rests on, so that they can be quoted."""
        from conspectus.query.walk.provenance import open_grounds

        if found.branch is None or not found.branch.steps:
            return True
        return bool(open_grounds(self._context).spans(int(found.branch.steps[-1].relation[0])))


@dataclass(slots=True, eq=False)
class Search:
    """One walk of ToG-2."""

    context: Context
    graph: KnowledgeGraph
    model: LanguageModel | None
    question: str
    rows: tuple[int, ...]
    record: Record
    decider: Decides
    reached: Reached | None
    walked: list[Branch]

    def __init__(
        self, context: Context, graph: KnowledgeGraph, model: LanguageModel | None, question: str, rows: tuple[int, ...]
    ) -> None:
        self.context, self.graph, self.model, self.question, self.rows = context, graph, model, question, rows
        self.record = Record()
        self.reached = None
        self.walked = []
        consuming = context.settings.tog.clue
        self.decider = (
            ModelDecider(model, graph, context.settings.tog)
            if model
            else open_decider(context, question, rows, consuming=consuming)
        )

    @property
    def settings(self) -> TogSettings:
        """The settings of the walk."""
        return self.context.settings.tog

    async def run(self) -> Found:
        """Return what the walk came to."""
        chosen = self.settings
        rows = await self._topics()
        reached = self.reached = Reached(self.context, self.graph, self.question, rows)
        clue = clues = ""
        first = reached.first(chosen.context_chunks)
        if self.model:
            verdict = await self.decider.judge(self.question, "", (), first, last=False)
            self.record.judged(0, "the topics' chunks", verdict)
            if verdict.sufficient:
                return Found(verdict, True, 0, passages=reached.best(chosen.context_chunks))
            clues = verdict.clue
            if chosen.clue and rows:
                clue = await self._clue(0, clues, ())
        else:
            verdict = Verdict(False)
        branches = self._start(rows)
        depth = 0
        for depth in range(1, chosen.depth + 1) if branches else ():
            last = depth == chosen.depth
            onward = await self._round(depth, clue, branches, reached)
            if not onward:
                self.record.end(branches, "nothing leads on")
                depth -= 1
                break
            branches, material = onward
            self.walked += branches
            verdict = await self.decider.judge(self.question, clues, branches, material, last=last)
            self.record.judged(depth, f"{len(branches)} paths", verdict)
            if verdict.sufficient:
                break
            clues = verdict.clue or clues
            if chosen.clue and not last:
                clue = await self._clue(depth, clues, branches)
        self.record.end(branches)
        return await self._found(verdict, branches, depth, reached)

    async def _found(self, verdict: Verdict, branches: Sequence[Branch], depth: int, reached: Reached) -> Found:
        passages = reached.best(self.settings.context_chunks)
        if isinstance(self.decider, OfflineDecider):
            if not verdict.sufficient:  # the walk ended before its last round
                verdict = await self.decider.judge(self.question, "", (), (), last=True)
            return Found(verdict, True, depth, self.decider.best(), passages)
        return Found(verdict, verdict.sufficient, depth, None, passages)

    async def _topics(self) -> tuple[int, ...]:
        chosen = self.settings
        if not self.rows or not (chosen.topic_prune and self.model):
            return self.rows[: chosen.width] if self.model else self.rows
        ruling = await self.decider.topics(self.question, self.rows, chosen.width)
        self.record.ruled("topics", 0, "", ruling)
        return tuple(self.rows[at] for at in ruling.kept)

    def _start(self, rows: Sequence[int]) -> list[Branch]:
        if not rows:
            return []
        if self.model is None:  # without a model topics go on together
            return [Branch(np.array(sorted(set(rows)), np.int64))]
        return [Branch(np.array([row], np.int64)) for row in rows]

    async def _round(
        self, depth: int, clue: str, branches: Sequence[Branch], reached: Reached
    ) -> tuple[list[Branch], list[Material]] | None:
        candidates = await self._candidates(depth, clue if depth > 1 or self.model is None else "", branches)
        if not candidates:
            return None
        query = f"{self.question} {clue}".strip()
        material = await self._scored(query, clue, candidates)
        top = material[: self.settings.context_chunks]
        scores = entity_scores([each.owner for each in top], [each.score for each in top], self.settings.alpha)
        kept = leading(scores, self.settings.width)
        considered = [
            Considered(
                self._label(each),
                at in kept,
                f"{sum(one.owner == at for one in top)} of the best chunks",
                scores.get(at, 0.0),
            )
            for at, each in enumerate(candidates)
        ]
        shown = sorted(considered, key=lambda each: (not each.kept, -(each.score or 0.0)))[:30]
        self.record.tell("entities", depth, "", shown, f"{len(kept)} of {len(candidates)} kept", 0)
        onward = [candidates[at] for at in kept]
        reached.add(depth, material, clue)
        return (onward, top) if onward else None

    async def _candidates(self, depth: int, clue: str, branches: Sequence[Branch]) -> list[Branch]:
        options = [discover(self.graph, each) for each in branches]
        rulings = await self._relations(clue, branches, options)
        candidates: list[Branch] = []
        for branch, offered, ruling in zip(branches, options, rulings, strict=True):
            self.record.ruled("relations", depth, self._label(branch), ruling)
            for at in ruling.kept:
                extended = extend(branch, offered[at])
                if isinstance(self.decider, OfflineDecider):
                    candidates.append(self.decider.narrowed(extended))
                else:
                    most = self.settings.candidates
                    candidates += [only(extended, [row]) for row in extended.entities[:most].tolist()]
        return candidates

    async def _relations(
        self, clue: str, branches: Sequence[Branch], options: Sequence[Sequence[Option]]
    ) -> list[Ruling]:
        width = self.settings.width
        if self.settings.combined or self.model is None:
            return await self.decider.relations(self.question, clue, branches, options, width)
        rulings: list[Ruling] = []
        for branch, offered in zip(branches, options, strict=True):
            rulings += await self.decider.relations(self.question, clue, [branch], [offered], width)
        return rulings

    async def _scored(self, query: str, clue: str, candidates: Sequence[Branch]) -> list[Material]:
        chosen = self.settings
        most = max(chosen.context_chunks, len(candidates))
        material = material_of(self.context, self.graph, query, candidates, most)
        if not has_documents(self.context) and isinstance(self.decider, OfflineDecider):
            scores = await self.decider.score(self.question, clue, candidates, material)
            return sorted(
                [replace(each, score=score) for each, score in zip(material, scores, strict=True)],
                key=lambda each: -each.score,
            )
        if chosen.scorer == "model":
            near = scored(self.context, query, material, "embedding", 0)[
                : chosen.first_stage or 2 * chosen.context_chunks
            ]
            scores = await self.decider.score(self.question, clue, candidates, near)
            return sorted(
                [replace(each, score=score) for each, score in zip(near, scores, strict=True)],
                key=lambda each: -each.score,
            )
        return scored(self.context, query, material, chosen.scorer, chosen.first_stage)

    async def _clue(self, depth: int, clues: str, branches: Sequence[Branch]) -> str:
        clue, calls, why = await self.decider.clue(self.question, clues, branches)
        self.record.tell("clue", depth, "", (), f"{clue}{f' ({why})' if why else ''}" or "none", calls)
        return clue

    def _label(self, branch: Branch) -> str:
        rows = branch.entities.tolist()
        more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
        return f"{named(self.graph, rows[:3])}{more}"


class Tog2Retriever:
    """The passages that a walk of ToG-2 comes to."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._model = context.model

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages of the topics, of what the walk came to, and of the question itself."""
        graph = open_graph(self._context)
        rows = link_topics(self._context, question, max(self._context.settings.tog.width, 3))
        search = Search(self._context, graph, self._model, question, rows)
        await search.run()
        reached = search.reached
        passages: tuple[Passage, ...] = reached.best(k) if reached else ()
        step = Step("topics", f"names of the graph in the question: {named(graph, rows)}")
        return Evidence(passages, trace=(step, *search.record.steps()), walk=search.record.trace())
