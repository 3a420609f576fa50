"""ToG: a beam search over the graph in which relations are pruned, then the entities behind them.

Sun et al. 2024, "Think-on-Graph" (arXiv 2307.07697, section 2). With a model a walk of width W and depth D takes at
most W prunings of relations, W of entities and 1 reasoning a round, and 1 answer from what the model knows at the end:
2WD + D + 1 calls.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import measured
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Branch, Option, discover, extend, only
from conspectus.query.methods.tog.log import Found, Record, answered, named
from conspectus.query.methods.tog.policy import Decides, Verdict
from conspectus.query.methods.tog.policy_llm import ModelDecider
from conspectus.query.methods.tog.policy_offline import OfflineDecider, open_decider
from conspectus.query.question.topics import link_topics, rows_of
from conspectus.query.types import Answer, Say, Step
from conspectus.query.walk.graph import KnowledgeGraph, open_graph


class Tog:
    """Answers from paths of the graph; with or without a language model."""

    def __init__(self, name: str, context: Context, model: LanguageModel | None) -> None:
        self._name = name
        self._context = context
        self._model = model

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer of a walk from what the question names."""
        rows = link_topics(self._context, question, max(self._context.settings.tog.width, 3))
        step = Step("topics", f"names of the graph in the question: {named(open_graph(self._context), rows)}")
        return await self._answered(question, rows, (step,), say)

    async def answer_about(self, question: str, topics: Sequence[str], say: Say) -> Answer:
        """Return the answer of a walk from entities of these names; one that the graph lacks is told in the trace."""
        rows, missing = rows_of(self._context, topics)
        lacks = f"; the graph lacks {', '.join(missing)}" if missing else ""
        return await self._answered(question, rows, (Step("topics", f"given: {', '.join(topics)}{lacks}"),), say)

    async def _answered(self, question: str, rows: tuple[int, ...], before: tuple[Step, ...], say: Say) -> Answer:
        graph = open_graph(self._context)
        chosen = self._context.settings.tog
        decider: Decides = (
            ModelDecider(self._model, graph, chosen)
            if self._model
            else open_decider(self._context, question, rows, consuming=False)
        )
        record = Record()
        with measured() as measure:
            found = await search(graph, decider, question, rows, chosen.width, chosen.depth, chosen.candidates, record)
            answer = answered(self._name, self._context, graph, question, found, record, before, say)
        return replace(answer, usage=measure.usage(depth=answer.usage.depth))


async def search(
    graph: KnowledgeGraph,
    decider: Decides,
    question: str,
    rows: Sequence[int],
    width: int,
    depth: int,
    candidates: int,
    record: Record,
) -> Found:
    """Return what a beam search from some entities came to."""
    offline = isinstance(decider, OfflineDecider)
    branches = _start(rows, width, together=offline)
    verdict, reached = Verdict(False, why="the graph holds nothing that the question names"), 0
    for number in range(1, depth + 1) if branches else ():
        onward = await _round(graph, decider, question, branches, width, candidates, number, record)
        if not onward:
            record.end(branches, "nothing leads on")
            break
        branches, reached = onward, number
        verdict = await decider.judge(question, "", branches, (), last=offline and number == depth)
        record.judged(number, f"{len(branches)} paths", verdict)
        if verdict.sufficient:
            record.end(branches)
            return Found(verdict, True, reached, decider.best() if isinstance(decider, OfflineDecider) else None)
    if isinstance(decider, OfflineDecider):
        verdict = await decider.judge(question, "", (), (), last=True)
        return Found(verdict, True, reached, decider.best())
    record.end(branches)
    if isinstance(decider, ModelDecider):
        verdict = await decider.own_answer(question, [each for each in branches if each.ways])
        record.tell("answer", reached, "", (), verdict.text or verdict.why, verdict.calls)
    return Found(verdict, False, reached)


def _start(rows: Sequence[int], width: int, *, together: bool) -> list[Branch]:
    if not rows:
        return []
    if together:
        return [Branch(np.array(sorted(set(rows)), np.int64))]
    return [Branch(np.array([row], np.int64)) for row in rows[:width]]


async def _round(
    graph: KnowledgeGraph,
    decider: Decides,
    question: str,
    branches: Sequence[Branch],
    width: int,
    candidates: int,
    depth: int,
    record: Record,
) -> list[Branch]:
    """Return the branches of one round: of all relations kept the best W, of all entities behind them the best W."""
    ranked: list[tuple[float, int, Option]] = []
    for number, branch in enumerate(branches):
        offered = discover(graph, branch)
        ruling = (await decider.relations(question, "", [branch], [offered], width))[0]
        record.ruled("relations", depth, named(graph, branch.entities[:3].tolist()), ruling)
        scores = ruling.scores or (0.0,) * len(ruling.kept)
        ranked += [(score, number, offered[at]) for at, score in zip(ruling.kept, scores, strict=True)]
    ranked = sorted(ranked, key=lambda each: (-each[0], each[1]))[:width]
    found: list[tuple[float, Branch]] = []
    for score, number, option in ranked:
        extended = extend(branches[number], option)
        if isinstance(decider, OfflineDecider):
            found.append((score, decider.narrowed(extended)))
            continue
        looked_at = only(extended, extended.entities[:candidates].tolist())
        ruling = await decider.entities(question, branches[number], looked_at, width)
        record.ruled("entities", depth, named(graph, branches[number].entities[:3].tolist()), ruling)
        for at, of_entity in zip(ruling.kept, ruling.scores, strict=True):
            found.append((score * of_entity, only(looked_at, [int(looked_at.entities[at])])))
    best = sorted(range(len(found)), key=lambda at: (-found[at][0], at))[:width]
    return [found[at][1] for at in best]
