"""From the roots of the hierarchy down: which communities are looked into, and which end up selected."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from conspectus.storage.records import Community


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The communities by their first appearance: each lies within its parent, and children share nothing."""

    parent: Mapping[str, str | None]
    children: Mapping[str, tuple[str, ...]]

    @property
    def roots(self) -> tuple[str, ...]:
        """The communities of the coarsest level."""
        return tuple(id_ for id_, parent in self.parent.items() if parent is None)


def hierarchy_of(communities: Sequence[Community]) -> Hierarchy:
    """Return the hierarchy of a table, in which one that is not divided stands once a level."""
    first = {each.id: each.same_as or each.id for each in communities}
    parent = {
        each.id: first[each.parent_id] if each.parent_id else None for each in communities if each.same_as is None
    }
    children: defaultdict[str, list[str]] = defaultdict(list)
    for id_, above in parent.items():
        if above is not None:
            children[above].append(id_)
    return Hierarchy(parent, {id_: tuple(each) for id_, each in children.items()})


class Descent:
    """One walk from the roots down. `frontier` is what is to be judged next, and empty at the end."""

    def __init__(self, hierarchy: Hierarchy, reported: Collection[str]) -> None:
        """Begin at the roots; communities outside `reported` have no report and are walked through."""
        self._hierarchy = hierarchy
        self._reported = reported
        self._chosen: dict[str, None] = {}
        self.frontier: tuple[str, ...] = ()
        self._open(hierarchy.roots)

    def judged(self, relevant: Collection[str]) -> None:
        """Go on below those of the frontier that are relevant; where nothing is so far, below all of it.

        What is relevant is selected in place of what it lies in, so no two selected communities share an entity.
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
        """Return what is selected by now."""
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
