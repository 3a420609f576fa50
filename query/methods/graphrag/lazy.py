"""Lazy global search: an index built without a model, and a model that reads only passages near the question.

After LazyGraphRAG (Microsoft Research, November 2024): indexing costs nothing, and a question costs what its
budget allows.

    1. questions   the question is split into smaller ones; passages are ranked by their nearness to any of them
    2. test        communities of the graph in the order of their nearest passages: a model scores the nearest untested
                   passages of each, and descends into the parts of those with a relevant one, until the budget is
                   spent or several rounds found nothing
    3. map, reduce claims are extracted from the relevant passages and combined, as in global search

Communities take turns, so that an answer about the whole collection does not come from its nearest part alone.
Without a model a passage is relevant if it is nearly as near as the nearest one, and the answer quotes.

A question makes one call for its parts, one per `_AT_ONCE` tests, one per window of relevant passages, one to answer.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.choose import choose
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.answer_writing.context_windows import Unit, Units, passage_unit, sources
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.global_search import search_over
from conspectus.query.methods.graphrag.map_input import Selected, selection_step
from conspectus.query.types import Answerer, Step
from conspectus.storage.arrays import Rows, runs
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.joins import communities_of_chunks, parents_of_communities
from conspectus.storage.records import Chunk
from pydantic import BaseModel

QUESTIONS, TEST = "lazy_questions", "lazy_relevance"
"""The steps of a question, as named in usage and cache."""
_QUESTIONS = 3  # at most; more would find the same passages and divide the tests among themselves
_AT_ONCE = 10
"""Passages scored per call."""
_CALLS_AT_ONCE = 4
"""Calls per round of tests."""
_OF_COMMUNITY = 5
"""Passages of one community tested per round."""
_BARREN = 2
"""Consecutive rounds without a relevant passage after which the search ends."""
_LONGEST_TURN = 1000
"""Most passages of one community considered per round."""
_RELEVANT = 5
"""Lowest score of a relevant passage, out of 10."""
_NEARLY = 0.7
"""Without a model: smallest cosine of a relevant passage, as a share of the nearest one's."""
_RANKED = 4
"""Passages ranked for each that may be tested."""


class SubQuestions(BaseModel):
    """Smaller questions."""

    questions: list[str]


@dataclass(slots=True, eq=False)
class _Group:
    """A community: its passages by nearness (`places` in the ranking), and its parts."""

    rows: list[int]
    places: list[int]
    parts: list["_Group"] = field(default_factory=list)

    def order(self, tested: Set[int]) -> int:
        """Return the rank of the nearest untested passage."""
        return next(place for row, place in zip(self.rows, self.places, strict=True) if row not in tested)


class LazyPassages:
    """Selects the relevant passages of the communities nearest to a question, within a budget of tests."""

    def __init__(self, context: Context, model: LanguageModel | None) -> None:
        self._context = context
        self._model = model
        self._settings = context.settings.lazy_search

    async def select(self, question: str, /) -> Selected:
        """Return the relevant passages, in the order in which they were found.

        A passage that could not be tested counts as relevant. ModelError if none could be tested.
        """
        smaller, why = await self._questions(self._model, question) if self._model else ([], "no model")
        nearness = self._nearness([question, *smaller])
        found, step = await self._walk(question, nearness)
        told = "; ".join(smaller) or why or "the question asks for one thing"
        return Selected(found, (Step("questions", told), step, selection_step("the tests leave", "passages", found)))

    async def _questions(self, model: LanguageModel, question: str) -> tuple[list[str], str]:
        """Return the model's questions; if none are usable, none and the reason."""
        asked = messages("query/graphrag/lazy_questions", question=question, most=str(_QUESTIONS))
        try:
            reply = await ask_for(model, Request(asked, QUESTIONS), SubQuestions)
        except ModelError as error:
            return [], f"the question stands alone: {error}"
        found = [" ".join(each.split()) for each in reply.questions]
        return [each for each in dict.fromkeys(found) if each and each != question][:_QUESTIONS], ""

    async def _verdicts(self, model: LanguageModel, question: str, units: Sequence[Unit]) -> list[bool | ModelError]:
        """Return whether passages are relevant, from one call per `_AT_ONCE`; the calls run concurrently."""
        batches = [units[start : start + _AT_ONCE] for start in range(0, len(units), _AT_ONCE)]
        replies = await gather_settled(self._scored(model, question, batch) for batch in batches)
        verdicts: list[bool | ModelError] = []
        for batch, reply in zip(batches, replies, strict=True):
            verdicts += [reply] * len(batch) if isinstance(reply, ModelError) else reply
        return verdicts

    async def _scored(self, model: LanguageModel, question: str, units: Sequence[Unit]) -> list[bool]:
        told = "\n\n".join(f"[{number}] {unit.title}\n{unit.text}" for number, unit in enumerate(units, 1))
        asked = messages("query/graphrag/lazy_relevance", question=question, passages=told)
        request = Request(asked, TEST, sources=sources(self._context, units))
        scores = await choose(model, request, [unit.title for unit in units])
        return [scores.get(place, 0.0) >= _RELEVANT / 10 for place in range(len(units))]

    def _nearness(self, questions: Sequence[str]) -> dict[int, float]:
        """Return the largest cosine of each ranked passage with any question, by row, the nearest first."""
        context, best = self._context, dict[int, float]()
        vectors = np.stack([context.embedder.embed_query(each) for each in questions])
        cosines, rows = context.chunk_vectors.search(vectors, _RANKED * self._settings.budget)
        for row, cosine in zip(rows.ravel().tolist(), cosines.ravel().tolist(), strict=True):
            best[row] = max(best.get(row, -1.0), cosine)
        return dict(sorted(best.items(), key=lambda item: (-round(item[1], 6), item[0])))

    async def _walk(self, question: str, nearness: dict[int, float]) -> tuple[Units, Step]:
        waiting = _groups(self._context, np.array(list(nearness), np.int64))
        tested: set[int] = set()
        found: list[int] = []
        failures: list[ModelError] = []
        barren = rounds = 0
        unusable = False
        while waiting and len(tested) < self._settings.budget and barren < _BARREN and not unusable:
            rows, taken = _next(waiting, tested, self._settings.budget - len(tested))
            units = [passage_unit(self._context, row) for row in rows]
            if self._model is None:
                least = _NEARLY * next(iter(nearness.values()))
                verdicts: list[bool | ModelError] = [nearness[row] >= least > 0 for row in rows]
            else:
                verdicts = await self._verdicts(self._model, question, units)
            failures += [verdict for verdict in verdicts if isinstance(verdict, ModelError)]
            relevant = {row for row, verdict in zip(rows, verdicts, strict=True) if verdict is not False}
            tested.update(rows)
            found += [row for row in rows if row in relevant]
            rounds += 1
            if len(failures) == len(tested):
                raise failures[0]
            unusable = 2 * sum(isinstance(failure, BadAnswer) for failure in failures) > len(tested)
            barren = 0 if relevant else barren + 1
            # Communities without a relevant passage are dropped; the others are divided into their parts.
            waiting = [group for group in waiting if group not in taken] + [
                part for group in taken if relevant.intersection(group.rows) for part in group.parts or [group]
            ]
            waiting = [group for group in waiting if not tested.issuperset(group.rows)]
        spent = len(tested) >= self._settings.budget
        ends = "the budget is spent" if spent else "no community is left" if not waiting else "nothing more was near"
        ends = "most replies could not be used" if unusable else ends
        lost = f"; {len(failures)} could not be tested and count as relevant" if failures else ""
        detail = f"{len(tested)} passages in {rounds} rounds, {len(found)} relevant; {ends}{lost}"
        return Units(self._context, Chunk, np.array(found, np.int64)), Step("test", detail)


def _next(waiting: Sequence["_Group"], tested: Set[int], left: int) -> tuple[list[int], list["_Group"]]:
    """Return the passages of the next round, as many as fill its calls, and the groups they were taken from.

    The groups take turns in the order of their nearest untested passage; each gives up to `_OF_COMMUNITY` per turn.
    """
    most = min(left, _AT_ONCE * _CALLS_AT_ONCE)
    open_rows = {id(group): [row for row in group.rows if row not in tested] for group in waiting}
    in_turn = sorted(waiting, key=lambda group: group.order(tested))
    batch: dict[int, None] = {}
    taken: dict[int, _Group] = {}
    turn = 0
    while len(batch) < most and (turn == 0 or (len(batch) < _AT_ONCE and turn * _OF_COMMUNITY < _LONGEST_TURN)):
        for group in in_turn:
            own = open_rows[id(group)][turn * _OF_COMMUNITY : (turn + 1) * _OF_COMMUNITY]
            if own and len(batch) < most:
                taken[id(group)] = group
                batch.update(dict.fromkeys(own))
        turn += 1
    rows = list(batch)[:most]
    full = len(rows) - len(rows) % _AT_ONCE
    return (rows[:full] if full and len(rows) < left else rows), list(taken.values())


def _groups(context: Context, ranked: Rows) -> list[_Group]:
    """Return the communities of the coarsest level with their ranked passages, and a group of passages in none."""
    places, communities = communities_of_chunks(context.index).of_each(ranked)
    order, starts = runs(communities)  # stable: the nearest passage of a community stays the first
    groups = {
        int(communities[own[0]]): _Group(ranked[places[own]].tolist(), places[own].tolist())
        for own in np.split(order, starts[1:])
        if len(own)
    }
    parents = parents_of_communities(context.index)
    roots: list[_Group] = []
    for community, group in groups.items():
        above = groups.get(int(parents[community]))
        (above.parts if above else roots).append(group)
    outside = np.setdiff1d(np.arange(len(ranked)), places)
    return [*roots, _Group(ranked[outside].tolist(), outside.tolist())] if len(outside) else roots


def open_lazy(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return lazy global search, extractive without a model."""
    return search_over(name, context, model, LazyPassages(context, model))
