"""The commands that the README and the guides show, run as they stand, one after another in a reader's folder."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.command_line import Done, conspectus

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
NOT_RUN = {
    "chat": "reads questions from a terminal (tests/conspectus/test_conversation.py)",
    "demo": "the README's first command, run by `make demo` (tests/end_to_end/test_wheel.py)",
    "doctor": "calls the server that the block before it starts (tests/conspectus/test_doctor.py)",
    "init": "needs a model (tests/conspectus/test_init_tune.py)",
    "mcp": "serves until it is stopped (tests/conspectus/server)",
    "serve": "serves until it is stopped (tests/conspectus/server)",
    "train": "needs a language model's folder (tests/conspectus/test_training.py)",
}
"""Commands that cannot run here as they stand, and where they are tested."""
OUTSIDE = (
    r"llm\.model=NAME|soft_prompt|--watch|\.\./|--endpoint |dask://|s3://|bolt://|scans\.index|--kg kg\.tsv"
    r"|\b(?:webqsp|hotpotqa|ragtest|explagraphs|graph_chunk_entity_relation|openie_results_\S+)\b"
)
"""What a reader brings: a model, a trained prompt, a scheduler, a store, a database, a scan, published sets, indexes of
other programs."""


def commands(page: Path) -> list[str]:
    """Return the commands in a page's blocks of code, without prompts, comments and what is piped into them."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    lines = (line for block in blocks for line in block.replace("\\\n", " ").splitlines())
    found = (re.fullmatch(r"(?:\$ )?(?:\.venv/bin/)?conspectus (\S.*?)(?:\s+#.*|\s+&)?", line) for line in lines)
    return [command[1] for command in found if command]


def runs(command: str) -> bool:
    return command.split()[0] not in NOT_RUN and not re.search(OUTSIDE, command)


PAPERS = {
    "lamps.md": """---
year: 2021
lang: en
---
# Lamps
The second study of lamps was funded by the Orrin Trust. Mara Quill showed it to John Watson in Oster.
Later Watson wrote to the Orrin Trust, and Watson was paid for it.
""",
    "harbours.md": "# Harbours\nThe harbour of Oster was dredged in 1911 by Mara Quill, who had studied lamps.\n",
    "notes/old.md": "# An old note\nMara Quill sold her boat to John Watson.\n",
}
"""A reader's own documents."""

RUN = [page for page in PAGES if any(runs(command) for command in commands(page))]


def write(folder: Path) -> None:
    for name, text in PAPERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def succeeded(*words: str | Path) -> Done:
    done = conspectus(*words)
    assert done.status == 0, f"conspectus {shlex.join(map(str, words))}\n{done.err}"
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The indexes that pages take as made: `docs.index`, and one without a name (films)."""
    folder = tmp_path_factory.mktemp("made")
    write(folder / "docs")
    films = ROOT / "examples" / "films"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        succeeded("index", "docs", "--index", "docs.index", "--quiet")
        succeeded("index", films / "pages", "--kg", films / "kg.tsv", "--quiet")
    return folder


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_as_they_stand(
    page: Path, made: Path, index_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    shutil.copytree(index_root, tmp_path / ".conspectus" / "demo")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "new.md").write_text("# A new note\nThe Orrin Trust was founded in Oster.\n")
    write(tmp_path / "papers")
    if page.name != "README.md":  # there the index is made
        shutil.copytree(made / "docs.index", tmp_path / "papers.index")
    monkeypatch.setenv("HOME", str(tmp_path))
    for command in filter(runs, commands(page)):
        words = [word.replace("~", str(tmp_path), 1) if word.startswith("~") else word for word in shlex.split(command)]
        files = [sorted(map(str, Path().glob(word))) if "*" in word and "/" in word else [word] for word in words]
        done = succeeded(*(name for names in files for name in names))
        assert done.out, command
