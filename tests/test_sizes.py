"""The product's sizes stay within `tests/size_budget.toml`, and lines are saved neither by width nor by docstrings."""

import re
import shutil
import subprocess
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conspectus.storage.settings import Settings
from pydantic import BaseModel

from benchmarks.codebase_size import BUDGET, FOLDERS, ROOT, Figures, lowered, measure, pages_of_menu

WRITE = "python -m benchmarks.codebase_size --write"


def outside(figures: Figures, budget: dict[str, Any]) -> list[str]:
    """Return what to do about each figure that is above its entry, or more than 1 % below it."""
    found = []
    for section, entries in figures.items():
        held = budget.get(section, {})
        for name in entries | held:
            figure, entry = entries.get(name, 0), held.get(name, 0)
            if figure > entry or name not in held:
                found.append(
                    f"{section}, {name}: {figure:,} is above its entry, {entry:,}. Delete some, or enter the higher "
                    f'figure and a [[rise]] that says what was deleted for it: "{section}.{name}" = [{entry}, {figure}]'
                )
            elif figure < 0.99 * entry or name not in entries:
                found.append(f"{section}, {name}: {figure:,} is below its entry, {entry:,}. Enter it: run `{WRITE}`")
    return found


def unexplained(budget: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the entries that are higher than in an earlier budget without a new [[rise]] for them."""
    new = [rise for rise in budget.get("rise", []) if rise not in before.get("rise", [])]
    explained = {
        (figure, *numbers)
        for rise in new
        if type(rise["date"]) is date and rise["deleted"].strip()
        for figure, numbers in rise["figures"].items()
    }
    sections = [section for section in budget if section in before and section != "rise"]
    risen = [
        (f"{section}.{name}", before[section].get(name, 0), entry)
        for section in sections
        for name, entry in budget[section].items()
        if entry > before[section].get(name, 0)
    ]
    return [f"{name} rose from {old} to {entry}" for name, old, entry in risen if (name, old, entry) not in explained]


def git(root: Path, *arguments: str, check: bool = True) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=check).stdout.strip()


def earlier_budgets(file: Path) -> list[dict[str, Any]]:
    """Return the last commit's budget, and that of the parent of the last commit that changed it.

    Of a merge it is the first parent's. A commit without a budget gives an empty one.
    """
    name = f":./{file.name}"
    changed = git(file.parent, "log", "-1", "--first-parent", "--format=%H", "--", file.name)
    commits = ["HEAD", f"{changed}^"] if changed else []
    return [tomllib.loads(git(file.parent, "show", commit + name, check=False)) for commit in commits]


def test_no_size_rises_and_what_fell_is_entered() -> None:
    found = outside(measure(ROOT, pages_of_menu(), Settings), tomllib.loads(BUDGET.read_text("utf-8")))
    assert not found, "\n".join(found)


def test_an_entry_rises_only_with_what_was_deleted_for_it() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("there is no git history to compare the budget with")
    if git(ROOT, "rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the clone is shallow: the budget before the last change may not be there")
    budget = tomllib.loads(BUDGET.read_text("utf-8"))
    for before in earlier_budgets(BUDGET):
        assert not unexplained(budget, before), f"add a [[rise]] to {BUDGET} that says what was deleted for it"


def test_lines_keep_their_width_and_functions_their_docstrings() -> None:
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]
    assert set(ruff) == {"line-length", "target-version", "lint"}, "nothing is excluded from formatting"
    assert ruff["line-length"] == 120
    assert set(ruff["lint"]) == {"select", "ignore", "per-file-ignores", "isort"}
    assert {"E", "D1"} <= set(ruff["lint"]["select"])
    assert {code for code in ruff["lint"]["ignore"] if re.match(r"E(5|$)|D(1|$)", code)} == {"D105", "D107"}
    for place, codes in ruff["lint"]["per-file-ignores"].items():
        assert not any(re.match("E(5|$)", code) for code in codes), place
        assert place == "tests/**" or not any(re.match("D(1|$)", code) for code in codes), place
    waived = re.compile(r"#\s*(?:ruff|flake8):\s*noqa|#\s*noqa(?!:)|#\s*noqa:.*\b(?:E501|D1\d\d)\b", re.IGNORECASE)
    for folder in FOLDERS:
        assert not [*(ROOT / folder).rglob("*ruff.toml")]
        for path in (ROOT / folder).rglob("*.py"):
            assert not waived.search(path.read_text("utf-8")), path


class Inner(BaseModel):
    one: int = 1
    prices: dict[str, float] = {}


class Outer(BaseModel):
    section: Inner = Inner()
    two: str | None = None


PAGE = '''"""A page."""
import sys
from typing import TYPE_CHECKING

from conspectus.query.shared import first, plain
from conspectus.storage.text import other

if TYPE_CHECKING:
    from conspectus.query.typed import Typed

_ONE = -1
DAY: int = 24 * 60 * 60
PAIR = {"a": 0.5, "b": (2, 3)}
NONE = DAY * 2, True, "3"

class Held:
    LIMIT = 7
    default: int = 8

    def public(self):
        def nested():
            import json
            from conspectus.query import late
        local = 9

# fmt: off
GRID = [1,
        2]
# fmt: on
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "query/methods/page.py": PAGE, "query/methods/__init__.py": "", "query/unread.py": "\n",
        "query/shared/plain.py": "import conspectus.query.deep\n", "query/deep.py": "\n\n",
        "query/late.py": "from conspectus.query.methods import page\n", "query/typed.py": "Typed = int\n",
        "query/shared/__init__.py": "def first(): ...\n",
        "storage/text/other.py": "\n" * 451, "conspectus/long.py": "def _long():\n" + "    pass\n" * 60,
        "storage/page.css": "\n\n\n", "storage/merge.sql": "\n\n", "tests/test_page.py": "a = (1)  # fmt: skip\n\n\n\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_a_small_tree_is_measured_as_by_hand(tree: Path) -> None:
    figures = measure(tree, {"m": {"query/methods/page.py"}, "n": {"query/deep.py"}}, Outer)
    page = len(PAGE.splitlines())
    assert figures["lines"] == {
        "product": page + 7 + 451 + 61, "storage": 451, "storage/text": 451, "prompts": 0, "query": page + 7,
        "query/methods": page, "query/shared": 2, "pipelines": 0, "conspectus": 61, "sql": 2, "web": 3,
    }  # fmt: skip
    assert figures["files"] == {
        "product": 10, "storage": 1, "prompts": 0, "query": 8, "pipelines": 0, "conspectus": 1,
    }  # fmt: skip
    assert figures["functions"]["product"] == 4
    assert figures["counts"] == {
        "settings keys": 3,  # one, prices, two
        "numeric constants": 8,  # -1, a day, 0.5, 2, 3, LIMIT, and the grid's two
        "imports inside functions": 2,
        "files over 450 lines": 1,
        "functions over 60 lines": 1,
        "public functions without a docstring": 2,  # Held.public, first
        "lines that are not formatted": 4,
    }
    # The page, both files of `shared`, and by these deep; typed, and late, which imports the page.
    assert figures["method files"] == {"m": 6, "n": 1}
    assert figures["method lines"] == {"m": page + 6, "n": 2}


def test_entries_are_lowered_and_never_raised() -> None:
    first = lowered({"lines": {"a": 200, "b": 100}, "files": {"a": 3}}, "")
    rise = '[[rise]]\ndate = 2026-11-27\ndeleted = "c"\n[rise.figures]\n"lines.a" = [1, 200]\n'
    again = lowered({"lines": {"a": 150, "b": 120, "new": 5}, "files": {}}, first + rise)
    assert tomllib.loads(again) == {"lines": {"a": 150, "b": 100}, "files": {}} | tomllib.loads(rise)
    assert lowered({"lines": {"a": 150, "b": 120}, "files": {}}, again) == again


def test_a_figure_outside_the_budget_is_named() -> None:
    budget = {"lines": {"a": 1000, "b": 1000, "c": 1000, "gone": 5}}
    found = outside({"lines": {"a": 1001, "b": 990, "c": 989, "new": 0}}, budget)
    assert [message.partition(":")[0] for message in found] == ["lines, a", "lines, c", "lines, new", "lines, gone"]
    assert '"lines.a" = [1000, 1001]' in found[0]
    assert WRITE in found[1]


def test_a_rise_in_history_needs_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "tests" / "budget.toml"
    file.parent.mkdir()
    rise = '[[rise]]\ndate = 2026-11-27\ndeleted = "%s"\n[rise.figures]\n"lines.a" = [10, 12]\n'

    def commit(text: str) -> list[list[str]]:
        file.write_text(text, "utf-8")
        git(tmp_path, "add", ".")
        git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--allow-empty", "-m", "t")
        return [unexplained(tomllib.loads(text), before) for before in earlier_budgets(file)]

    git(tmp_path, "init")
    assert commit("[lines]\na = 10\n") == [[], []]
    assert commit("[lines]\na = 12\n") == [[], ["lines.a rose from 10 to 12"]]
    assert commit("[lines]\na = 12\n") == [[], ["lines.a rose from 10 to 12"]], "another commit does not hide it"
    assert commit("[lines]\na = 10\n") == [[], []]
    assert commit("[lines]\na = 12\n" + rise % " ") == [[], ["lines.a rose from 10 to 12"]]
    assert commit("[lines]\na = 10\n" + rise % "b") == [[], []]
    assert commit("[lines]\na = 12\n" + rise % "b") == [[], ["lines.a rose from 10 to 12"]], (
        "an old reason is used once"
    )
    assert commit("[lines]\na = 10\n") == [[], []]
    assert commit("[lines]\na = 12\n" + rise % "b") == [[], []]
