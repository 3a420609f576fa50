"""An index narrowed to what a filter permits, before anything asks it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from conspectus.query.context import Context
from conspectus.query.filter.documents import Filter, asked, permitted_documents
from conspectus.query.types import Answer, Evidence, Step
from conspectus.storage.index import Index

KEPT = 8
"""Narrowed indexes that an open one keeps: those that were asked last."""
STEP = "filter"

_Has = tuple[frozenset[str], bool]
"""Documents, and whether what only a graph states belongs to them."""


def narrow(context: Context, where: str | None, access: Sequence[str] | None) -> Context:
    """Return what may be asked under a filter; the context itself where that is all.

    What is narrowed already and narrowed again has the documents that both filters permit; without a further filter it
    stays as it is. UsageError for what is no filter.
    """
    settings = context.settings.access
    chosen = asked(where, access)
    if chosen == Filter() and (context.narrowed or (settings.unasked, settings.graph) == ("all", "public")):
        return context
    documents, graph = permitted_documents(context.index, chosen, settings), settings.graph == "public"
    index = _views(context.index).of((documents, graph), lambda: _view(context, documents, graph))
    words = "; ".join(filter(None, (context.narrowed, str(chosen))))
    return replace(context, index=index, narrowed=words)


def told(context: Context, answer: Answer) -> Answer:
    """Return an answer that says what it was narrowed to, in its trace first."""
    if not context.narrowed:
        return answer
    step = _step(context)
    evidence = replace(answer.evidence, trace=(step, *answer.evidence.trace))
    return replace(answer, narrowed=context.narrowed, evidence=evidence, trace=(step, *answer.trace))


def told_of(context: Context, found: Evidence) -> Evidence:
    """Return evidence that says what it was narrowed to, in its trace first."""
    return replace(found, trace=(_step(context), *found.trace)) if context.narrowed else found


def _step(context: Context) -> Step:
    count = context.index.manifest.rows["documents"]
    return Step(STEP, f"{context.narrowed}: {count} document{'s' if count != 1 else ''}")


def _view(context: Context, documents: frozenset[str], graph: bool) -> Index:
    from conspectus.pipelines.permitted.view import permitted

    return permitted(context.index, documents, context.embedder, graph=graph)


class _Views:
    """The narrowed indexes that were asked last, by what they have. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Has, Index] = OrderedDict()

    def of(self, has: _Has, make: Callable[[], Index]) -> Index:
        """Return the index that has these documents, made where it is not kept."""
        with self._lock:  # of two that ask for one at once, the second waits: to make it twice costs more
            found = self._kept.get(has)
            if found is None:
                found = self._kept[has] = make()
            self._kept.move_to_end(has)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return found


def _views(index: Index) -> _Views:
    return index.once(_Views, _Views)
