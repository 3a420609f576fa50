"""Reading behind a path: which path and which sentences are taken, and when there is nothing to be said."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import BeamPath, discover, extend
from conspectus.query.methods.tog.evidence import read_behind_paths
from conspectus.query.question.topics import rows_of
from conspectus.query.walk.graph import open_graph
from conspectus.storage.index import Index
from conspectus.storage.settings import load_settings

from tests.query.films import TRIPLES

PAGES = Path(__file__).parents[4] / "examples" / "films" / "pages"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """The films and the pages about them."""
    from conspectus.pipelines.index import build_index

    folder = tmp_path_factory.mktemp("both")
    (folder / "kg.tsv").write_text("".join("\t".join(each) + "\n" for each in TRIPLES), "utf-8")
    given = {"kg": {"files": [str(folder / "kg.tsv")]}, "extraction": {"pipeline": "regex"}}
    build_index([PAGES], folder / "index", load_settings(overrides=given))
    return Context(Index.open(folder / "index"), load_settings())


@dataclass(frozen=True, slots=True)
class FixedGuide:
    """Gives every path the same clue, and a fixed score."""

    words: str
    scores: dict[int, float]

    def score(self, path: BeamPath) -> float:
        """Return the score of the path to the branch's first entity."""
        return self.scores.get(int(path.entities[0]), 0.0)

    def clue(self, paths: Sequence[BeamPath]) -> str:
        """Return what is open."""
        return self.words


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
        found = read_behind_paths(context, [pelluci, tarn], FixedGuide("harbour was built engineer", worths))
        assert found
        assert found.entity == best
        assert builder in " ".join(each.text for each in found.quotes)


@pytest.mark.parametrize("clue", ["ate breakfast Pelluci", "Pelluci", ""])
def test_what_the_page_does_not_say_is_not_answered(clue: str, context: Context) -> None:
    branch = path(context, "Grey Heron", "Ada Mirren", "Pelluci")
    assert read_behind_paths(context, [branch], FixedGuide(clue, {})) is None


def test_topics_and_things_without_a_page_are_not_read(context: Context) -> None:
    guide = FixedGuide("harbour was built engineer", {})
    assert read_behind_paths(context, [path(context, "Pelluci")], guide) is None
    assert read_behind_paths(context, [path(context, "Port Alma", "1979")], guide) is None
    assert read_behind_paths(context, [], guide) is None
