"""Packages with plug-ins, written and put on the path as if they were installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conspectus.storage import plugins

GOOD = """
from conspectus.exporting import ExportFormat
from conspectus.pipelines.exchange.exports import ExportResult
from conspectus.pipelines.readers.rows import Row
from conspectus.query.menu import Method
from conspectus.query.methods.baselines import Bm25Retriever
from conspectus.storage.records import Document


def read_notes(path, settings):
    for number, text in enumerate(path.read_text("utf-8", "replace").split("---"), start=1):
        if text.strip():
            yield Row(number, None, None, text.strip(), {"kind": "note"})


def write_titles(index, to):
    to.write_text("\\n".join(row.title for row in index.rows(Document)), "utf-8")
    return ExportResult((to,), {"documents": len(index.rows(Document))})


titles = ExportFormat("the titles, one a line", write_titles)
words = Method("words", "passages that share words with the question", Bm25Retriever)
"""
BAD = """
def read_never(path, settings):
    raise ValueError("this reader\\nalways fails")


def fails(index, to):
    raise KeyError("gone")


from conspectus.exporting import ExportFormat
failing = ExportFormat("fails", fails)
"""
ENTRIES = {
    "good-notes": """[conspectus.readers]
.notes = good_notes:read_notes
.txt = good_notes:read_notes

[conspectus.methods]
words = good_notes:words

[conspectus.exporters]
titles = good_notes:titles
""",
    "bad-notes": """[conspectus.readers]
.never = bad_notes:read_never
.absent = bad_notes_absent:read

[conspectus.methods]
broken = bad_notes_absent:method
wrong = bad_notes:read_never

[conspectus.exporters]
failing = bad_notes:failing
""",
}


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Install a package whose plug-ins work and one whose plug-ins fail, until the block ends."""
    for name, code in (("good-notes", GOOD), ("bad-notes", BAD)):
        module = name.replace("-", "_")
        (folder / f"{module}.py").write_text(code, "utf-8")
        facts = folder / f"{module}-1.2.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", "utf-8")
        (facts / "entry_points.txt").write_text(ENTRIES[name], "utf-8")
    sys.path.insert(0, str(folder))
    plugins._found.cache_clear()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        plugins._found.cache_clear()
        for module in ("good_notes", "bad_notes"):
            sys.modules.pop(module, None)
