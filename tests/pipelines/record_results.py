"""The results of each step of a build of small corpora, as checksums.

    python -m tests.pipelines.record_results

writes them to `step_results.json`, with which `test_build_index.py` compares.
"""

import json
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_plan import STEPS, STEPS_OF_A_MODEL
from conspectus.pipelines.exchange.graphrag.importer import import_graphrag
from conspectus.pipelines.resolution import llm_vote
from conspectus.pipelines.steps import descriptions
from conspectus.prompts.client.reply_cache import step_source
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MEMO
from conspectus.storage.memo import Memo
from conspectus.storage.settings import load_settings
from conspectus.storage.tables import TABLES
from pyarrow import parquet

from benchmarks.fake_server import FakeRequest, FakeServer
from tests import graph_model
from tests.conftest import EXAMPLES, ISLES, write_rows
from tests.pipelines.backends.test_openie import CORPUS, EXTRACTED
from tests.pipelines.exchange.graphrag_tables import EXCERPT

FILE = Path(__file__).parent / "step_results.json"
_OF_VECTORS = {"score", "similarity"}
"""Columns left out, as vectors are: the same encoder's differ in the third digit from processor to processor."""


class Result(NamedTuple):
    """The version of a step, and the checksum of its results."""

    version: int | str
    checksum: str


def results(folder: Path) -> dict[str, Result]:
    """Build small indexes in a folder; return the results of the steps, in the order of the data.

    Reading has its checksum as version, because the documents are part of the fingerprint.
    """
    found = _offline(folder) | _imported(folder) | _by_a_model(folder)
    checksums = {step: digest(json.dumps(_plain(result), sort_keys=True))[:16] for step, result in found.items()}
    versions = {"read": checksums["read"], **STEPS, **STEPS_OF_A_MODEL}
    return {step: Result(version, checksums[step]) for step, version in versions.items()}


def recorded() -> dict[str, Result]:
    """Return what `step_results.json` contains."""
    return {step: Result(**result) for step, result in json.loads(FILE.read_text("utf-8")).items()}


def _offline(folder: Path) -> dict[str, object]:
    """Return what is made without a model of passages, a Markdown file and a graph."""
    index = folder / "offline"
    graph = {"kg": {"files": [str(EXAMPLES / "films" / "kg.tsv")]}}
    inputs = [_isles(folder), EXAMPLES / "films" / "pages", EXAMPLES / "office" / "manual.md"]
    build_index(inputs, index, load_settings(overrides=graph))
    with closing(sqlite3.connect(index / MEMO)) as memo:
        annotated = memo.execute("SELECT value FROM results WHERE kind = 'extract' ORDER BY value").fetchall()
        embedded = memo.execute("SELECT key FROM results WHERE kind LIKE 'embed %' ORDER BY key").fetchall()
    rows, version = _rows(index), StoredIndex.open(index).folder
    mentioned = ("chunk_id", "start", "end", "match", "surface")
    described = [*rows["entities"], *rows["relations"]]
    vectors = sorted((version / "vectors").iterdir())
    return {
        "read": rows["documents"],
        "split": rows["chunks"],
        "bm25": [_content(path) for path in sorted((version / "bm25").iterdir())],
        "links": rows["links"],
        "annotate": [value.decode() for (value,) in annotated],
        "extract": sorted(json.dumps([row[name] for name in mentioned]) for row in rows["mentions"]),
        "resolve": rows["merges"],
        "join": [[{**row, "description": ""} for row in described], rows["mentions"], rows["origins"]],
        "date": rows["dated_facts"],
        "synonyms": rows["synonyms"],
        "walk": [rows["names"], *(_content(path) for path in sorted((version / "graph").iterdir()))],
        "describe": described,
        "communities": rows["communities"],
        "report": rows["reports"],
        "embed": [embedded, [(each.name, each.stat().st_size) for each in vectors]],
    }


def _imported(folder: Path) -> dict[str, object]:
    """Return what is made of an OpenIE file and of GraphRAG's tables."""
    write_rows(folder / "corpus.jsonl", CORPUS)
    write_rows(folder / "openie.jsonl", EXTRACTED)
    openie = {"extraction": {"pipeline": "regex", "openie": str(folder / "openie.jsonl")}}
    build_index([folder / "corpus.jsonl"], folder / "openie", load_settings(overrides=openie))
    import_graphrag(EXCERPT, folder / "graphrag", load_settings())
    return {"import": [_rows(folder / "openie"), _rows(folder / "graphrag")]}


def _by_a_model(folder: Path) -> dict[str, object]:
    """Return what is made with a model of passages, and the keys of its replies, which hold all that it is told."""
    index = folder / "model"
    with FakeServer(_reply) as server:
        chosen: dict[str, dict[str, object]] = {
            "llm": {"model": "m", "base_url": server.url},
            "extraction": {"claims": True},
        }
        with patch.object(descriptions, "DESCRIPTION_TOKENS", 10), patch.multiple(llm_vote, DOUBT=0.1, SURE=1.0):
            build_index([_isles(folder)], index, load_settings(overrides=chosen))
    rows, memo = _rows(index), Memo(index / MEMO)

    def told(*steps: str) -> list[object]:
        keys = [memo.made_from(step_source(step)) for step in steps]
        assert all(keys), f"the model is not asked in every step of {steps}"
        return list(keys)

    extracting = told("extract", "glean", "glean_check", "claims", "claims_glean")
    return {
        "prompts": STEPS_OF_A_MODEL["prompts"],
        "extract-by-model": [*extracting, rows["mentions"], rows["claims"]],
        "vote-by-model": [*told("resolve"), rows["merges"]],
        "describe-by-model": [*told("summarise"), rows["entities"], rows["relations"]],
        "report-by-model": [*told("report"), rows["reports"]],
    }


def _reply(request: FakeRequest) -> str:
    if pairs := graph_model.PAIR.findall(request.prompt):
        return json.dumps({"votes": [{"pair": int(pair), "same": True} for pair in pairs]})
    if '("claim"' in request.prompt:
        claim = ("Marrow", "NONE", "a", "TRUE", "NONE", "NONE", "Marrow is a village.", "Marrow")
        return f"""("claim"<|>{"<|>".join(f'"{part}"' for part in claim)})##\n<|COMPLETE|>"""
    return graph_model.reply(request).replace('"answer": "No"', '"answer": "Yes"')  # so that it gleans


def _isles(folder: Path) -> Path:
    lines = (ISLES / "corpus.jsonl").read_text("utf-8").splitlines(keepends=True)
    (folder / "isles.jsonl").write_text("".join(lines[:12]), "utf-8")
    return folder / "isles.jsonl"


def _rows(index: Path) -> dict[str, list[dict[str, object]]]:
    version = StoredIndex.open(index).folder
    return {name: parquet.read_table(version / f"{name}.parquet").to_pylist() for name in TABLES}


def _content(path: Path) -> object:
    if path.suffix == ".arrow":
        return file_digest(path)
    return np.load(path).tolist() if path.suffix == ".npy" else path.read_text("utf-8")


def _plain(value: object) -> object:
    """Return a value with floats of three digits, because processors may round the last ones differently."""
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items() if key not in _OF_VECTORS}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        now = {step: result._asdict() for step, result in results(Path(made)).items()}
    FILE.write_text(json.dumps(now, indent=2) + "\n", "utf-8")
