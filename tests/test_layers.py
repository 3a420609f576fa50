"""Imports go down only: storage <- prompts <- query <- pipelines <- conspectus."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("storage", "prompts", "query", "pipelines", "conspectus")
# `pipelines` may use `query` only to evaluate and to train.
MAY_USE_QUERY = ("pipelines/evaluation", "pipelines/train")
# Copyleft libraries are imported in one place each, so that whoever ships us can see and cut them.


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {top(name.name) for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            found.add(top(node.module or ""))
            if node.module == "conspectus":
                found |= {name.name for name in node.names if name.name in LAYERS}
    return found


def top(module: str) -> str:
    """Return the layer of a module of ours, the library of any other."""
    names = module.split(".")
    return names[1] if names[0] == "conspectus" and len(names) > 1 and names[1] in LAYERS else names[0]


def modules(layer: str) -> list[Path]:
    found = sorted((ROOT / layer).rglob("*.py"))
    assert found, layer
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_is_below_it(layer: str) -> None:
    above = set(LAYERS[LAYERS.index(layer) + 1 :])
    for path in modules(layer):
        assert not imports(path) & above, f"{path} imports from a layer above"


def test_pipelines_use_query_only_to_evaluate_and_to_train() -> None:
    for path in modules("pipelines"):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(MAY_USE_QUERY):
            assert "query" not in imports(path), place


def test_copyleft_libraries_stay_in_their_place() -> None:
    for layer in LAYERS:
        for path in modules(layer):
            if path.name != "exports.py":
                assert "igraph" not in imports(path), f"{path} imports a library under the GPL"


def test_only_tasks_knows_prefect() -> None:
    users = [path for layer in LAYERS for path in modules(layer) if "prefect" in imports(path)]
    assert [path.relative_to(ROOT).as_posix() for path in users] == ["pipelines/prefect_flow.py"]


def test_nothing_evaluates_or_unpickles() -> None:
    for layer in LAYERS:
        for path in modules(layer):
            names = {node.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Name)}
            assert not names & {"eval", "exec"}, path
            assert not imports(path) & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path


def test_asking_a_view_loads_nothing_of_pipelines(sample_root: Path) -> None:
    code = (
        "import sys, conspectus\n"
        "view = conspectus.open(sys.argv[1]).filter('title = \"Oxford\"')\n"
        "assert view.retrieve('Where does Oxford lie?', 'ppr').passages\n"
        "assert view.ask('Where does Oxford lie?', 'local').evidence.passages\n"
        "print([name for name in sys.modules if name.startswith('conspectus.pipelines')])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(sample_root)], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr


def test_asking_imports_only_what_it_uses(sample_root: Path) -> None:
    unused = ["torch", "transformers", "spacy", "prefect", "igraph", "openai", "httpx", "sklearn", "scipy"]
    unused += ["duckdb", "faiss", "wordfreq", "langcodes", "yaml", "filelock", "rich", "sqlite3", "pyarrow.dataset"]
    unused += ["fastapi", "starlette", "uvicorn", "mcp"]
    unused += ["conspectus.query.graph_question", "conspectus.query.methods.tog", "conspectus.query.filter.view"]
    unused += ["conspectus.query.methods.graphrag", "conspectus.query.conversation.follow_up", "conspectus.pipelines"]
    unused += ["conspectus.query.answer_writing.generative", "conspectus.query.citations.answer_text"]
    code = (
        "import sys, conspectus\n"
        "index = conspectus.open(sys.argv[1])\n"
        "assert index.retrieve('Where does Oxford lie?', 'bm25').passages\n"
        "encoders = [name for name in ('onnxruntime', 'tokenizers') if name in sys.modules]\n"
        "answer = index.ask('Where does Oxford liee?')\n"
        "assert answer.evidence.passages and answer.method.startswith('ppr'), answer\n"
        f"print(encoders, [name for name in {unused!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(sample_root)], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "[] []", ran.stdout + ran.stderr


def test_the_front_door_opens_without_heavy_libraries() -> None:
    heavy = ["torch", "transformers", "sentence_transformers", "spacy", "faiss", "igraph", "prefect", "pyarrow"]
    heavy += ["scipy", "openai", "duckdb"]
    code = f"import conspectus, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
