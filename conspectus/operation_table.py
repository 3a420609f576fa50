"""The table of operations: what each front needs to know besides a function's signature and docstring."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conspectus import operations as ops

if TYPE_CHECKING:
    from conspectus.query.context import Context

_PYTHON_ONLY = frozenset({"history"})
"""Parameters whose values only Python can express. Other fronts have their own form of them."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, and what fronts need to know about it besides its signature and docstring.

    Attributes:
        run: The function.
        path: Its address below that of an index; "" if it has none. A parameter in braces is part of the address.
        asks: Whether it is a question, which may wait for models and counts against limits.
        paged: Whether its result is a list that is read page by page.
        whole: Whether it names files of all documents, so that callers who see only some must not use it.
        tool: Defaults for agents that differ, None for a parameter that they do not have; None if it is no tool of
            agents.
    """

    run: Callable[..., Any]
    path: str
    asks: bool = False
    paged: bool = False
    whole: bool = False
    tool: Mapping[str, Any] | None = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.run.__name__

    @property
    def about(self) -> str:
        """What it does: its docstring up to the arguments."""
        return about_of(self.run)

    @property
    def result(self) -> Any:  # noqa: ANN401  (a type)
        """The type of its result."""
        return inspect.signature(self.run).return_annotation

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters that every front has, by name."""
        given = list(inspect.signature(self.run).parameters.values())[1:]
        return {each.name: each for each in given if each.name not in _PYTHON_ONLY}

    def helps(self) -> dict[str, str]:
        """Return the description of each parameter, from the docstring."""
        return helps_of(self.run)

    def read(self, context: "Context", given: Mapping[str, Any]) -> Any:  # noqa: ANN401  (its result)
        """Return its result; of a list only the rows from `offset` on, at most `limit`, with the total."""
        if not self.paged:
            return self.run(context, **given)
        rows = self.run(context, **{name: value for name, value in given.items() if name not in {"offset", "limit"}})
        shown = list(rows[given["offset"] : given["offset"] + given["limit"]])
        return {"version": context.index.manifest.version, "total": len(rows), "rows": shown}


def about_of(function: Callable[..., Any]) -> str:
    """Return what a function does: its docstring up to the arguments."""
    return re.split(r"\n\n(?=Args:|Returns:|Raises:|Example:)", inspect.getdoc(function) or "")[0]


def helps_of(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter of a function, from its docstring.

    >>> helps_of(ops.report)
    {'community': 'the id of the community (`community_id`), or of its report.'}
    """
    _, _, told = (inspect.getdoc(function) or "").partition("Args:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", told.partition("\n\n")[0], re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


ASK = Operation(ops.ask, "ask", asks=True)
OPERATIONS = {
    operation.name: operation
    for operation in (
        ASK,
        Operation(ops.retrieve, "retrieve", asks=True),
        Operation(ops.explain, "explain", asks=True, tool={"k": 3}),
        Operation(ops.status, "status"),
        Operation(ops.methods, ""),
        Operation(ops.documents, "documents", paged=True, tool={"sort": None}),
        Operation(ops.document, "documents/{document:path}"),
        Operation(ops.passages, "passages"),
        Operation(ops.filters, "metadata"),
        Operation(ops.entities, "entities", paged=True),
        Operation(ops.neighbours, "entities/{entity:path}/neighbours", paged=True),
        Operation(ops.timeline, "entities/{entity:path}/timeline", paged=True),
        Operation(ops.entity, "entities/{entity:path}", tool={"limit": 10}),
        Operation(ops.conflicts, "conflicts", paged=True),
        Operation(ops.reports, "reports", paged=True),
        Operation(ops.report, "reports/{community}"),
        Operation(ops.diff, "diff", whole=True, tool=None),
        Operation(ops.failures, "failures", paged=True, whole=True, tool=None),
    )
}
"""The operations of every front, in the order in which they are listed. Also the order of routes: the longer first."""
