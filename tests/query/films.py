"""A small knowledge graph of made-up films, and an index of it."""

from collections.abc import Sequence
from pathlib import Path

from conspectus.query.context import Context
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import load_settings

TRIPLES = (
    ("Grey Heron", "directed_by", "Ada Mirren"),
    ("Grey Heron", "starred_actors", "Otto Brand"),
    ("Grey Heron", "starred_actors", "Lena Fisk"),
    ("Grey Heron", "release_year", "1971"),
    ("Grey Heron", "has_genre", "Drama"),
    ("Salt Pans", "directed_by", "Ada Mirren"),
    ("Salt Pans", "starred_actors", "Hugo Wren"),
    ("Salt Pans", "release_year", "1974"),
    ("Salt Pans", "written_by", "Mary Quill"),
    ("Port Alma", "directed_by", "Ada Mirren"),
    ("Port Alma", "starred_actors", "Otto Brand"),
    ("Port Alma", "release_year", "1979"),
    ("Port Alma", "has_genre", "Comedy"),
    ("Night Ferry", "directed_by", "Hugo Wren"),
    ("Night Ferry", "starred_actors", "Lena Fisk"),
    ("Night Ferry", "release_year", "1974"),
    ("Night Ferry", "written_by", "Mary Quill"),
    ("Ada Mirren", "born_in", "Pelluci"),
    ("Hugo Wren", "born_in", "Pelluci"),
    ("Pelluci", "lies_in", "Ostrava"),
    ("Mary Quill", "born_in", "Tarn"),
    ("Tarn", "lies_in", "Ostrava"),
)
PAGES = Path(__file__).parents[2] / "examples" / "films" / "pages"


def grid(side: int) -> tuple[tuple[str, str, str], ...]:
    """Return the triples of a grid of places that lie beside each other."""
    places = [(x, y) for x in range(side) for y in range(side)]
    beside = [((x, y), other) for x, y in places for other in ((x + 1, y), (x, y + 1)) if max(other) < side]
    return tuple((_place(*one), "lies beside", _place(*other)) for one, other in beside)


def _place(x: int, y: int) -> str:
    return f"Place {chr(65 + x)}{chr(65 + y)}"


def build(folder: Path, triples: Sequence[tuple[str, str, str]], *pages: Path) -> Context:
    """Build the index of a graph, and of documents if any are given, and open it without a model."""
    from conspectus.pipelines.build_index import build_index

    file = folder / "kg.tsv"
    file.write_text("".join("\t".join(each) + "\n" for each in triples), "utf-8")
    given = {"kg": {"files": [str(file)]}, "extraction": {"pipeline": "regex"}}
    report = build_index(list(pages), folder / "index", load_settings(overrides=given))
    assert not report.failures, report.failures
    return Context(StoredIndex.open(folder / "index"), load_settings())
