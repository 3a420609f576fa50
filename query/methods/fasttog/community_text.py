"""Communities as text, for a model to choose from and to answer from (FastToG, "Community-to-Text")."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from conspectus.query.methods.fasttog.local_search import Candidate
from conspectus.query.walk.graph import KnowledgeGraph, sentence


@dataclass(frozen=True, slots=True)
class Statement:
    """A piece of text, and the rows of the relations that it says."""

    text: str
    relations: tuple[int, ...]


class Community2Text(Protocol):
    """Says what communities hold, the relations that join them to where they were come from included."""

    @property
    def name(self) -> str:
        """What is told in traces: "t2t" or "g2t"."""
        ...

    def told(self, candidates: Sequence[Candidate]) -> list[tuple[Statement, ...]]:
        """Return the statements of each community."""
        ...


@dataclass(frozen=True, slots=True)
class Triple2Text:
    """T2T: each relation is a statement, by rule; those that join the communities come first."""

    graph: KnowledgeGraph
    name: str = "t2t"

    def told(self, candidates: Sequence[Candidate]) -> list[tuple[Statement, ...]]:
        """Return the relations of each community; what is said twice is one statement."""
        return [(*self._stated(each.bridges), *self._stated(each.inside)) for each in candidates]

    def _stated(self, relations: Sequence[int]) -> list[Statement]:
        found: dict[str, list[int]] = {}
        for row in relations:
            found.setdefault(sentence(self.graph, row), []).append(row)
        return [Statement(text, tuple(found[text])) for text in sorted(found)]


def whole_text(statements: Sequence[Statement]) -> str:
    """Return statements as one line."""
    return " ".join(each.text if each.text.endswith((".", "!", "?")) else f"{each.text}." for each in statements)
