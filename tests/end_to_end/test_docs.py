"""What the README and docs/ show works: commands exist with their options, Python runs, settings and files exist."""

import argparse
import ast
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from conspectus.cli import register
from conspectus.query.menu import METHODS
from conspectus.storage.settings import Settings

UsageError = typer.BadParameter.__base__  # of the click that typer brings
ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")])


def page(path: Path) -> str:
    return path.read_text("utf-8")


PROGRAM = r"(?:\.venv/bin/)?(?:conspectus|python|make|pip|pytest)"
"""Commands of these are checked; those of other programs (prefect, printf, cd) are not ours."""


def command_lines(path: Path) -> list[str]:
    """Return every command of a page that is ours: in blocks of code, and in the text between backquotes."""
    text = page(path)
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    shown = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    shown += [re.sub(r"\s+", " ", code) for code in re.findall(r"`([^`]+)`", prose)]
    found = []
    for line in shown:
        command = re.sub(r"^\$ |\s#.*$|\s&$", "", line).rpartition(" | ")[2].strip()
        command = re.sub(r"^(?:[A-Z][A-Z_]*=\S+ )+", "", command)  # the variables of its environment
        if re.match(rf"{PROGRAM} \S", command):
            found.append(command)
    return found


@cache
def program() -> Any:  # noqa: ANN401  (a command or a group of the click that typer brings)
    return typer.main.get_command(register())


def check_conspectus(words: list[str]) -> None:
    """Look a command up, and have its options parsed, without running it."""
    command = program()
    while (commands := getattr(command, "commands", {})) and words and not words[0].startswith("-"):
        assert words[0] in commands, f"no command {words[0]}"
        command = commands[words.pop(0)]
    named = [
        name for option, names in pairwise(words) if option in {"--method", "--methods"} for name in names.split(",")
    ]
    assert set(named) <= set(METHODS), f"no methods: {set(named) - set(METHODS)}"
    _, left, _ = command.make_parser(command.context_class(command)).parse_args(words)
    assert not left, f"not arguments of it: {left}"


def check_arguments(source: Path, words: list[str]) -> None:
    """Have words parsed by the arguments that a program declares, without importing it."""
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
    parser.add_argument("--help", action="store_true")
    for call in ast.walk(ast.parse(source.read_text("utf-8"))):
        if not isinstance(call, ast.Call) or getattr(call.func, "attr", getattr(call.func, "id", "")) not in {
            "add_argument",
            "add",
        }:
            continue
        flags = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        rules = {
            rule.arg: rule.value.value for rule in call.keywords if rule.arg and isinstance(rule.value, ast.Constant)
        }
        kept = {name: rules[name] for name in ("action", "nargs", "required") if name in rules}
        if flags:
            parser.add_argument(*flags, **kept)
    _, left = parser.parse_known_args(words)
    assert not left, f"not arguments of {source.name}: {left}"


def check_python(words: list[str]) -> None:
    """Check that a module or a script exists, runs as it is called, and has the options that it is given."""
    if words[0] == "-m":
        name = words[1].removeprefix("conspectus.").replace(".", "/")
        source = next((file for file in (ROOT / f"{name}.py", ROOT / name / "__main__.py") if file.exists()), None)
        assert source is not None, f"no module {words[1]}"
        check_arguments(source, words[2:])
        return
    source = ROOT / words[0]
    assert source.exists(), f"no script {words[0]}"
    assert not re.search(r"^from tests\b", source.read_text("utf-8"), re.M), f"run {words[0]} with python -m"
    check_arguments(source, words[1:])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_that_is_shown_exists_with_its_options(path: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for line in command_lines(path):
        program, *words = shlex.split(line)
        try:
            match Path(program).name:
                case "conspectus":
                    check_conspectus(words)
                case "python":
                    check_python(words)
                case "make":
                    assert re.search(rf"^{re.escape(words[0])}:", makefile, re.M), "no such target"
                case "pytest":
                    assert all((ROOT / word.partition("::")[0]).exists() for word in words if "/" in word)
                case "pip":
                    assert set(re.findall(r"conspectus\[(\w+)\]", line)) <= set(extras), "no such extra"
        except (AssertionError, UsageError, argparse.ArgumentError) as error:
            pytest.fail(f"`{line}`: {error}")


def test_the_readme_shows_the_main_commands() -> None:
    shown = {line.split()[1] for line in command_lines(ROOT / "README.md")}
    assert {"index", "ask", "status", "evaluate", "demo", "test", "docs"} <= shown


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    sections = "|".join(Settings.model_fields)
    for section, key in set(re.findall(rf"(?<![\w./-])({sections})\.([a-z_]+)\b(?!\.)(?=[=`' ,])", page(path))):
        if key in {"parquet", "faiss", "rows", "tsv", "json", "svg"}:  # files, not settings
            continue
        fields: Any = Settings.model_fields[section].annotation
        assert key in fields.model_fields, f"{section}.{key}"


@pytest.mark.parametrize(
    "snippet", re.findall(r"^```python\n(.*?)^```", page(ROOT / "docs" / "models.md"), re.M | re.S)
)
def test_the_python_of_models_runs(snippet: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    if "server.measures" in snippet:
        assert "200" in done.stdout


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_every_file_that_a_page_leads_to_exists(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page(path)):
        assert (path.parent / target).exists(), target
    for target in re.findall(
        r"`((?:tests|benchmarks|docs|examples|prompts|pipelines|storage|query|conspectus)/[\w./-]+)`", page(path)
    ):
        assert (ROOT / target).exists(), target


def test_every_test_that_a_page_names_exists() -> None:
    for path in PAGES:
        for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page(path)):
            assert (ROOT / file).is_file(), (path.name, file)
            assert not name or re.search(rf"(?:def|class) {name}\b", page(ROOT / file)), (path.name, file, name)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(ROOT / "docs"), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Index.ask" in (tmp_path / "site" / "api.html").read_text("utf-8")
