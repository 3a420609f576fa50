"""Sizes of the product, and the budget that holds them (`tests/size_budget.toml`).

    python -m benchmarks.codebase_size            every figure, and its entry in the budget where they differ
    python -m benchmarks.codebase_size --json     the figures as JSON
    python -m benchmarks.codebase_size --write    lower entries of the budget to the figures; none rises

If there is no budget, --write makes one. The sections are:

lines, files, functions   Python of a folder and of all folders in it. A function is any `def`, nested ones too. `web`
                          is JavaScript, CSS and HTML, `sql` the files of SQL.
counts                    The whole product. A settings key is a value that a user can set; a dictionary is one key. A
                          numeric constant is a number that a module assigns, or a class to an upper-case name: -1 and
                          60 * 60 are one each, and each item of a tuple, list, set or dictionary is one, so that
                          packing constants removes none. Lines that are not formatted are counted in tests, too: those
                          between `fmt: off` and `fmt: on`, and each `fmt: skip`.
method files, lines       What a reader of a method opens: the modules of its retriever and its answerer, as
                          `query/menu.py` locates them, and every module in `query/` that these import, directly or
                          not. Imports in functions and under TYPE_CHECKING are followed, because a reader looks up
                          types too. Not followed are names of methods that a method calls, such as `auto`'s, and the
                          reader of passages that the menu gives to a method without an answerer. A package's
                          `__init__.py` counts if a name is imported from it.
"""

import argparse
import ast
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from conspectus.query.menu import METHODS
from conspectus.storage.settings import Settings
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / "tests" / "size_budget.toml"
FOLDERS = ("storage", "prompts", "query", "pipelines", "conspectus")
IMPORTS = (ast.Import, ast.ImportFrom)
COUNTS = (
    "numeric constants",
    "imports inside functions",
    "files over 450 lines",
    "functions over 60 lines",
    "public functions without a docstring",
)
RISES = "# Rises."
HEADER = """\
# How large the product may be. tests/test_sizes.py holds these entries, benchmarks/codebase_size.py explains them. They
# fall only: `python -m benchmarks.codebase_size --write` lowers them, without comments between them, and raises none.
"""
NO_RISES = f"""\
{RISES} An entry above may be raised by hand, in the commit that adds here what was deleted for it:
#
#     [[rise]]
#     date = 2026-11-27
#     deleted = "the second parser of dates, 212 lines, which dateutil replaces"
#     [rise.figures]
#     "lines.storage/text" = [3678, 3702]
"""

Figures = dict[str, dict[str, int]]


def measure(root: Path, pages: Mapping[str, Iterable[str]], settings: type[BaseModel]) -> Figures:
    """Return all figures by section and name.

    Args:
        root: The folder that holds the folders of the product, and `tests`.
        pages: For each method, the files of its retriever and answerer, below `root`.
        settings: The class of all settings.
    """
    imported: dict[Path, set[Path]] = {}
    measured: dict[Path, Counter[str]] = {}
    for path in (path for top in FOLDERS for path in (root / top).rglob("*.py")):
        text = path.read_text("utf-8")
        nodes = list(ast.walk(ast.parse(text)))
        measured[path] = measure_module(text, nodes)
        imported[path] = imports_in_query(root, nodes)

    def total(name: str, folder: str = "") -> int:
        return sum(figures[name] for path, figures in measured.items() if path.is_relative_to(root / folder))

    def other_lines(*ends: str) -> int:
        paths = [path for top in FOLDERS for end in ends for path in (root / top).rglob(f"*.{end}")]
        return sum(len(path.read_text("utf-8").splitlines()) for path in paths)

    inner = {path.relative_to(root).parts[:2] for path in measured if len(path.relative_to(root).parts) > 2}
    folders = sorted([*FOLDERS, *map("/".join, inner)], key=lambda it: (FOLDERS.index(it.partition("/")[0]), it))
    tests = [path.read_text("utf-8") for path in (root / "tests").rglob("*.py")]
    reached = {name: closure(imported, (root / page for page in files)) for name, files in pages.items()}
    return {
        "lines": {
            "product": total("lines"),
            **{folder: total("lines", folder) for folder in folders},
            "sql": other_lines("sql"),
            "web": other_lines("js", "css", "html"),
        },
        "files": {"product": total("files"), **{top: total("files", top) for top in FOLDERS}},
        "functions": {"product": total("functions"), **{top: total("functions", top) for top in FOLDERS}},
        "counts": {
            "settings keys": settings_keys(settings),
            **{name: total(name) for name in COUNTS},
            "lines that are not formatted": total("lines that are not formatted") + sum(map(unformatted, tests)),
        },
        "method files": {name: len(files) for name, files in reached.items()},
        "method lines": {name: sum(measured[path]["lines"] for path in files) for name, files in reached.items()},
    }


def measure_module(text: str, nodes: list[ast.AST]) -> Counter[str]:
    """Return the figures of one module from its text and all nodes of its tree, the tree first."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {node for function in functions for node in ast.walk(function) if isinstance(node, IMPORTS)}
    lines = len(text.splitlines())
    return Counter(
        {
            "files": 1,
            "lines": lines,
            "functions": len(functions),
            "numeric constants": sum(map(constants, nodes)),
            "imports inside functions": len(inner),
            "files over 450 lines": lines > 450,
            "functions over 60 lines": sum((node.end_lineno or 0) - node.lineno >= 60 for node in functions),
            "public functions without a docstring": undocumented(nodes[0].body),
            "lines that are not formatted": unformatted(text),
        }
    )


def pages_of_menu() -> dict[str, set[str]]:
    """Return the files of each method's retriever and answerer, as the menu locates them."""
    parts = {name: (method._retriever, method._answerer) for name, method in METHODS.items()}
    modules = {name: {part._path.partition(":")[0] for part in both if part} for name, both in parts.items()}
    return {name: {f"query/methods/{it.replace('.', '/')}.py" for it in its} for name, its in modules.items()}


def undocumented(body: Iterable[ast.stmt]) -> int:
    """Return the number of public functions without a docstring in the body of a module and of its public classes."""
    count = 0
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            count += undocumented(node.body) if isinstance(node, ast.ClassDef) else ast.get_docstring(node) is None
    return count


def settings_keys(model: type[BaseModel]) -> int:
    """Return the number of values that a user can set: fields that are not sections themselves."""
    types = [field.annotation for field in model.model_fields.values()]
    return sum(settings_keys(it) if isinstance(it, type) and issubclass(it, BaseModel) else 1 for it in types)


def constants(holder: ast.AST) -> int:
    """Return the number of numeric constants that a module or a class assigns itself; 0 for any other node."""
    count = 0
    for node in holder.body if isinstance(holder, ast.Module | ast.ClassDef) else ():
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(holder, ast.Module) or ast.unparse(target).isupper():
                count += numbers(node.value)
    return count


def numbers(value: ast.expr | None) -> int:
    """Return how many numbers a value consists of; 0 if it is computed from anything else."""
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return sum(map(numbers, value.elts))
    if isinstance(value, ast.Dict):
        return sum(map(numbers, value.values))
    if isinstance(value, ast.UnaryOp):
        return numbers(value.operand)
    if isinstance(value, ast.BinOp):
        return min(numbers(value.left), numbers(value.right))
    return int(isinstance(value, ast.Constant) and type(value.value) in {int, float, complex})


def unformatted(text: str) -> int:
    """Return the number of lines between `fmt: off` and `fmt: on`, and of those with `fmt: skip`."""
    count, off = 0, False
    for line in map(str.strip, text.splitlines()):
        off = line != "# fmt: on" and (off or line == "# fmt: off")
        count += off or line.endswith("# fmt: skip")
    return count


def closure(imported: Mapping[Path, set[Path]], pages: Iterable[Path]) -> set[Path]:
    """Return pages and all that they import, directly or not."""
    found: set[Path] = set()
    waiting = set(pages)
    while waiting:
        found |= waiting
        waiting = set().union(*(imported[path] for path in waiting)) - found
    return found


def imports_in_query(root: Path, nodes: Iterable[ast.AST]) -> set[Path]:
    """Return the files in `query/` that a module imports anywhere: of each imported name, its module or its package."""
    found: list[Path | None] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [file_in_query(root, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            package = file_in_query(root, node.module)
            found += [file_in_query(root, f"{node.module}.{alias.name}") or package for alias in node.names]
    return {file for file in found if file}


def file_in_query(root: Path, module: str) -> Path | None:
    """Return the file of a module or package in `query/`; None if there is none of this name."""
    package, *names = module.split(".")
    if package != "conspectus" or names[:1] != ["query"]:
        return None
    place = root.joinpath(*names)
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def lowered(figures: Figures, text: str) -> str:
    """Return the text of a budget with the entries that fall, without those that are no longer measured.

    A figure above its entry keeps that entry, and one without an entry gets none. An empty text becomes a budget of all
    figures.
    """
    old = tomllib.loads(text) if text else figures
    written = HEADER
    for section, entries in figures.items():
        written += f"\n[{json.dumps(section)}]\n"
        for name in (name for name in entries if name in old.get(section, {})):
            written += f"{json.dumps(name)} = {min(entries[name], old[section][name])}\n"
    _, mark, rises = text.partition(RISES)
    return f"{written}\n{mark + rises if mark else NO_RISES}"


def main() -> None:
    """Print the table or the figures, and write the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--write", action="store_true", help="lower the entries of the budget")
    options = parser.parse_args()
    figures = measure(ROOT, pages_of_menu(), Settings)
    if options.write:
        BUDGET.write_text(lowered(figures, BUDGET.read_text("utf-8") if BUDGET.is_file() else ""), "utf-8")
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    budget = tomllib.loads(BUDGET.read_text("utf-8")) if BUDGET.is_file() else {}
    for section, entries in figures.items():
        print(f"\n{section:40} {'figure':>8} {'entry':>8}")
        for name, figure in entries.items():
            entry = budget.get(section, {}).get(name, 0)
            print(f"  {name:38} {figure:>8,} {f'{entry:,}' if entry != figure else '':>8}")


if __name__ == "__main__":
    main()
