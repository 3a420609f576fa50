"""Dynamic community selection: reports chosen from the roots of the hierarchy down, by their relevance to the question.

GraphRAG's dynamic global search (Microsoft, 2024): a report that is relevant is replaced by its relevant children.
Communities below an irrelevant report are not rated, so a map-reduce reads fewer reports, and finer ones.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ask_choice
from conspectus.query.answer_writing.context_windows import Unit, Units, report_unit, sources
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.map_input import Selected, passages_instead, selection_step
from conspectus.query.types import Step
from conspectus.storage.errors import ModelError
from conspectus.storage.index import per_index
from conspectus.storage.records import Community, Report

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ReportHierarchy:
    """The communities by first level of appearance; a child lies within its parent, and siblings are disjoint."""

    parent: Mapping[str, str | None]
    children: Mapping[str, tuple[str, ...]]

    @property
    def roots(self) -> tuple[str, ...]:
        """The communities of the coarsest level."""
        return tuple(id_ for id_, parent in self.parent.items() if parent is None)


def hierarchy_of(communities: "pa.Table") -> ReportHierarchy:
    """Return the hierarchy of the community table, where an undivided community is repeated on every level.

    Args:
        communities: The columns id, parent_id and same_as.
    """
    ids, parents, repeats = (communities.column(name).to_pylist() for name in ("id", "parent_id", "same_as"))
    first = {id_: same_as or id_ for id_, same_as in zip(ids, repeats, strict=True)}
    parent = {
        id_: first[above] if above else None
        for id_, above, same_as in zip(ids, parents, repeats, strict=True)
        if same_as is None
    }
    children: defaultdict[str, list[str]] = defaultdict(list)
    for id_, above in parent.items():
        if above is not None:
            children[above].append(id_)
    return ReportHierarchy(parent, {id_: tuple(below) for id_, below in children.items()})


class Descent:
    """One descent from the roots. `frontier` are the communities to rate next; it is empty at the end."""

    def __init__(self, hierarchy: ReportHierarchy, reported: Collection[str]) -> None:
        """Start at the roots; communities outside `reported` have no report and are passed through."""
        self._hierarchy = hierarchy
        self._reported = reported
        self._chosen: dict[str, None] = {}
        self.frontier: tuple[str, ...] = ()
        self._open(hierarchy.roots)

    def judged(self, relevant: Collection[str]) -> None:
        """Descend below the relevant communities of the frontier; below all of it if none was relevant so far.

        A relevant community replaces the selected community that contains it, so that no two selected communities
        share an entity.
        """
        found = [id_ for id_ in self.frontier if id_ in relevant]
        for id_ in found:
            above = self._hierarchy.parent[id_]
            while above is not None:
                self._chosen.pop(above, None)
                above = self._hierarchy.parent[above]
        self._chosen.update(dict.fromkeys(found))
        self._open([child for id_ in (found if self._chosen else self.frontier) for child in self._below(id_)])

    def selected(self) -> tuple[str, ...]:
        """Return the communities selected so far."""
        return tuple(self._chosen)

    def _below(self, id_: str) -> tuple[str, ...]:
        return self._hierarchy.children.get(id_, ())

    def _open(self, ids: Sequence[str]) -> None:
        reported: list[str] = []
        waiting = list(ids)
        while waiting:
            id_ = waiting.pop()
            if id_ in self._reported:
                reported.append(id_)
            else:
                waiting.extend(self._below(id_))
        self.frontier = tuple(sorted(reported))


STEP = "rate"
_BEST = 5
_RELEVANT = 1  # lowest rating of a report whose children are rated: only irrelevant ones end the descent


class DynamicReports:
    """Selects reports by a descent through the hierarchy, guided by the ratings of a model."""

    def __init__(self, context: Context, model: LanguageModel) -> None:
        self._context = context
        self._model = model

    async def select(self, question: str, /) -> Selected:
        """Return the relevant reports without a relevant child; no entity is covered by two of them.

        A report that could not be rated counts as relevant. ModelError if none could be rated.
        """
        context = self._context
        rows = _report_rows(context)
        if not rows and context.narrowed:
            return await passages_instead(context, question, "there is no report that may be read")
        descent = Descent(_hierarchy(context), rows)
        rated, tokens, levels = 0, 0, 0
        failures: list[ModelError] = []
        while descent.frontier:
            units = [report_unit(context, rows[id_]) for id_ in descent.frontier]
            ratings = await gather_settled(self._rated(question, unit) for unit in units)
            failures += [rating for rating in ratings if isinstance(rating, ModelError)]
            rated, tokens, levels = rated + len(units), tokens + sum(unit.n_tokens for unit in units), levels + 1
            if len(failures) == rated:
                raise failures[0]
            rated_ids = zip(descent.frontier, ratings, strict=True)
            descent.judged({id_ for id_, each in rated_ids if isinstance(each, ModelError) or each >= _RELEVANT})
        chosen = Units(context, Report, np.array([rows[id_] for id_ in descent.selected()], np.int64))
        lost = f"; {len(failures)} could not be rated and count as relevant" if failures else ""
        walked = Step("rate", f"{rated} reports of {tokens} tokens on {levels} levels{lost}")
        return Selected(chosen, (walked, selection_step("the walk selected", "reports", chosen)))

    async def _rated(self, question: str, unit: Unit) -> float:
        asked = messages("query/graphrag/global_rate_report", report=unit.text, question=question)
        request = Request(asked, STEP, sources=sources(self._context, [unit]))
        return float(
            await ask_choice(self._model, request, [str(number) for number in range(_BEST + 1)], reasoned=True)
        )


@per_index
def _hierarchy(context: Context) -> ReportHierarchy:
    return hierarchy_of(context.index.arrow(Community, "id", "parent_id", "same_as"))


@per_index
def _report_rows(context: Context) -> dict[str, int]:
    """Return the row of each report by the id of its community."""
    ids = context.index.arrow(Report, "community_id").column("community_id").to_pylist()
    return {id_: row for row, id_ in enumerate(ids)}
