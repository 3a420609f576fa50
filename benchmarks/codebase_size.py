"""Size of the code base: files, lines, settings, and the files that a reader of a method opens.

    python -m benchmarks.codebase_size [--json FILE]

A reader of a method opens its page, and the modules that the page imports from the same folder under `query/methods`.
"""

import argparse
import ast
import json
import subprocess
from pathlib import Path

from conspectus.storage.settings import Settings

HERE = Path(__file__).resolve().parents[1]
FOLDERS = ("storage", "prompts", "query", "pipelines", "conspectus")
PAGES = {
    "ppr": "query/methods/ppr/ppr.py",
    "global": "query/methods/graphrag/global_search.py",
    "tog2": "query/methods/tog/tog2.py",
    "fasttog": "query/methods/fasttog/fasttog.py",
    "gretriever": "query/methods/gretriever/gretriever.py",
}


def files_of(folder: str) -> list[Path]:
    """Return the Python files of a folder that git tracks."""
    listed = subprocess.run(["git", "ls-files", f"{folder}/*.py"], cwd=HERE, capture_output=True, text=True, check=True)
    return [HERE / name for name in listed.stdout.splitlines()]


def lines(paths: list[Path]) -> int:
    """Return the number of lines of files."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def reader_files(page: Path) -> set[Path]:
    """Return a page and the modules of its own folder that it imports, directly or indirectly."""
    package = "conspectus." + ".".join(page.parent.relative_to(HERE).parts)
    found: set[Path] = set()
    open_pages = [page]
    while open_pages:
        path = open_pages.pop()
        if path in found:
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
                module = page.parent / (node.module or "").removeprefix(f"{package}.").replace(".", "/")
                if module.with_suffix(".py").is_file() and module.parent == page.parent:
                    open_pages.append(module.with_suffix(".py"))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    product = [path for folder in FOLDERS for path in files_of(folder)]
    figures: dict[str, int] = {
        "product files": len(product),
        "product lines": lines(product),
        "files under 40 lines": sum(
            len(path.read_text("utf-8").splitlines()) < 40 for path in product if path.name != "__init__.py"
        ),
        "test lines": lines(files_of("tests")),
        "settings fields": sum(
            len(getattr(field.annotation, "model_fields", ())) for field in Settings.model_fields.values()
        ),
    }
    for name, page in PAGES.items():
        figures[f"files of its own that a reader of {name} opens"] = len(reader_files(HERE / page))
    for name, value in figures.items():
        print(f"{name:50} {value:>8,}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
