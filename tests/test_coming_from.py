"""Every command of docs/coming-from.md runs, in the order of its table, over a few small texts."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import networkx as nx
import pytest
from conspectus.query.menu import METHODS

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus
from tests.conftest import write_rows
from tests.pipelines.exchange.graphrag_tables import EXCERPT
from tests.waiting import LIMIT, free_port, wait_until

PAGE = (Path(__file__).parent.parent / "docs" / "coming-from.md").read_text("utf-8")
TEXTS = {
    "a": "Anna Berg met Otto Brand in Port Alma. Otto Brand is a captain.",
    "b": "Mary Quill left Port Alma for North Bay. She keeps the harbour log.",
    "c": "Otto Brand wrote to Mary Quill from North Bay.",
}


def rows(section: str) -> list[tuple[str, str, str]]:
    """Return the rows of the table below a heading."""
    table = PAGE.partition(f"## From {section}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) ?\|$", table, re.M)[1:]
    return [row for row in found if not row[0].startswith("---")]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with what the commands name."""
    monkeypatch.chdir(tmp_path)
    for folder, names in (("docs", "ab"), ("more", "c")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.txt").write_text(TEXTS[name], "utf-8")
    shutil.copytree(EXCERPT, tmp_path / "ragtest")
    light(tmp_path / "light")
    passages = [
        {"idx": name, "passage": text, "extracted_entities": ["Otto Brand", "Port Alma"],
         "extracted_triples": [["Otto Brand", "was in", "Port Alma"]]} for name, text in TEXTS.items()
    ]  # fmt: skip
    (tmp_path / "openie_results_ner_m.json").write_text(json.dumps({"docs": passages}), "utf-8")
    (tmp_path / "suite").mkdir()
    write_rows(tmp_path / "suite" / "corpus.jsonl", [{"id": key, "text": text} for key, text in TEXTS.items()])
    write_rows(
        tmp_path / "suite" / "questions.jsonl",
        [{"id": "1", "question": "Who met Otto Brand?", "answers": ["Anna Berg"], "supporting": ["a"]}],
    )
    with FakeServer() as model:
        monkeypatch.setenv("CONSPECTUS__LLM__BASE_URL", model.url)
        monkeypatch.setenv("CONSPECTUS__EXTRACTION__PIPELINE", "regex")
        assert conspectus("index", "docs", "--index", "my.index", "-q").status == 0
        yield tmp_path


def light(folder: Path) -> None:
    """Write what LightRAG keeps of one text."""
    folder.mkdir()
    graph = nx.Graph()
    for name in ("Anna Berg", "Otto Brand"):
        graph.add_node(name, entity_id=name, entity_type="person", description=f"{name} is named.", source_id="chunk-1")
    graph.add_edge(
        "Anna Berg", "Otto Brand", weight=1.0, description="Anna met Otto.", keywords="met", source_id="chunk-1"
    )
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    chunk = {"content": TEXTS["a"], "full_doc_id": "doc-1", "chunk_order_index": 0, "tokens": 20, "file_path": "a.txt"}
    (folder / "kv_store_text_chunks.json").write_text(json.dumps({"chunk-1": chunk}), "utf-8")
    (folder / "kv_store_full_docs.json").write_text(json.dumps({"doc-1": {"content": TEXTS["a"]}}), "utf-8")


@pytest.mark.parametrize("section", ["Microsoft GraphRAG", "LightRAG", "HippoRAG"])
def test_every_command_runs(work: Path, section: str) -> None:
    ran = 0
    for known, here, note in rows(section):
        for command in re.findall(r"`(conspectus [^`]*)`", f"{here} {note}"):
            words = shlex.split(command)[1:]
            if words[0] == "serve":
                serves(words)
            elif words[0] == "chat":
                chat = [sys.executable, "-m", "conspectus.cli", *words]
                said = subprocess.run(chat, input="Who met Otto Brand?\n", capture_output=True, text=True)
                assert "Anna Berg" in said.stdout, said.stderr
            else:
                done = conspectus(*words)
                assert done.status == 0, f"{known}: {command}\n{done.err}"
                assert done.out or words[0] == "init", command
            ran += 1
    assert ran >= 8


def serves(words: list[str]) -> None:
    """Start a server, and ask it how it is."""
    port = free_port()
    command = [sys.executable, "-m", "conspectus.cli", *words, "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def is_ready() -> bool:
        assert server.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=LIMIT).status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_until(is_ready)
    finally:
        server.terminate()
        server.wait(LIMIT)


def test_what_is_named_exists() -> None:
    for name in re.findall(r"conspectus [^`]*--method ([\w:]+)", PAGE):
        assert name in METHODS
    for name in re.findall(r"`((?:global|dense|bm25|hybrid|lazy|auto)(?::\w+)?)`", PAGE):
        assert name in METHODS, name
