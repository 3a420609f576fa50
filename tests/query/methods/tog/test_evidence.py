"""Reading behind a path: which path and which sentences are taken, and when there is nothing to be said."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import BeamPath, discover, extend
from conspectus.query.methods.tog.by_reading import ReadingWalk
from conspectus.query.methods.tog.evidence import QuotesBehindPath, read_behind_paths
from conspectus.query.methods.tog.tog2 import score_entities
from conspectus.query.question.topics import rows_of
from conspectus.query.walk.graph import open_graph
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def context(films_and_pages: Context) -> Context:
    """The films and the pages about them."""
    return films_and_pages


@dataclass(frozen=True, slots=True)
class FixedWalk:
    """A walk along some paths, each with the same clue and a fixed score."""

    visited: Sequence[BeamPath]
    words: str
    scores: dict[int, float] = field(default_factory=dict)

    def score(self, path: BeamPath) -> float:
        """Return the score of the path to the branch's first entity."""
        return self.scores.get(int(path.entities[0]), 0.0)

    def clue(self, path: BeamPath) -> str:
        """Return what is open."""
        return self.words


def behind(
    context: Context, paths: Sequence[BeamPath], clue: str, scores: dict[int, float] | None = None
) -> QuotesBehindPath | None:
    return read_behind_paths(context, cast("ReadingWalk", FixedWalk(paths, clue, scores or {})))


def path(context: Context, *names: str) -> BeamPath:
    """Return the branch from the first of some things to the next, and on to the last."""
    graph = open_graph(context)
    rows, missing = rows_of(context, names)
    assert not missing
    branch = BeamPath(np.array([rows[0]], np.int64))
    for row in rows[1:]:
        (option,) = [each for each in discover(graph, branch) if each.edges.neighbours.tolist() == [row]]
        branch = extend(branch, option)
    return branch


def test_the_path_that_is_worth_more_is_read_behind(context: Context) -> None:
    pelluci = path(context, "Grey Heron", "Ada Mirren", "Pelluci")
    tarn = path(context, "Mary Quill", "Tarn")
    first, second = int(pelluci.entities[0]), int(tarn.entities[0])
    for worths, best, builder in (
        ({first: 0.6, second: 0.1}, first, "Tomas Reyle"),
        ({first: 0.1, second: 0.6}, second, "Karla Vint"),
    ):
        found = behind(context, [pelluci, tarn], "harbour was built engineer", worths)
        assert found
        assert found.entity == best
        assert builder in " ".join(each.text for each in found.quotes)


@pytest.mark.parametrize("clue", ["ate breakfast Pelluci", "Pelluci", ""])
def test_what_the_page_does_not_say_is_not_answered(clue: str, context: Context) -> None:
    branch = path(context, "Grey Heron", "Ada Mirren", "Pelluci")
    assert behind(context, [branch], clue) is None


def test_things_without_a_page_are_not_read(context: Context) -> None:
    clue = "harbour was built engineer"
    assert behind(context, [path(context, "Port Alma", "1979")], clue) is None
    assert behind(context, [], clue) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=12), st.floats(0, 2))
def test_entity_scores_are_equation_6(pieces: list[tuple[int, float]], alpha: float) -> None:
    owners, scores = [each[0] for each in pieces], [each[1] for each in pieces]
    ranked = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
    found = score_entities(owners, scores, alpha)
    for owner in set(owners):
        want = sum(scores[place] * math.exp(-alpha * k) for k, place in enumerate(ranked, 1) if owners[place] == owner)
        assert math.isclose(found[owner], want, abs_tol=1e-12)
