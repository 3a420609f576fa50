"""The command line as a new user meets it: what it teaches, what it prints where, and how it ends."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conspectus.cli import register
from conspectus.cli.main import MODULES
from conspectus.query.menu import METHODS
from conspectus.storage.settings import as_yaml

from tests.command_line import conspectus, conspectus_apart, start
from tests.conftest import write_rows

COMMANDS = (
    "init index add remove prune correct check rollback ask retrieve explain methods chat status documents "
    "document passages filters entities entity neighbours timeline conflicts reports report diff outline verify "
    "doctor query sql serve mcp import-graphrag export evaluate questions judge demo completion"
).split()
HEAVY = ["torch", "onnxruntime", "spacy", "faiss", "igraph", "prefect", "pyarrow", "scipy", "numpy"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "curie.txt").write_text("Marie Curie discovered polonium. She was born in Warsaw.", "utf-8")
    (folder / "warsaw.txt").write_text("Warsaw is the capital of Poland. The Vistula flows through it.", "utf-8")
    return folder


def test_every_command_is_known_here() -> None:
    app = register()
    assert [each.name or each.callback.__name__ for each in app.registered_commands if each.callback] == COMMANDS
    for command in app.registered_commands:
        assert command.callback
        module = command.callback.__module__.removeprefix("conspectus.cli.")
        assert (command.name or command.callback.__name__) in MODULES[module].split()


def test_help_lists_the_commands_and_the_exit_statuses() -> None:
    done = conspectus("--help")
    assert (done.status, done.err) == (0, "")
    for name in COMMANDS:
        line = re.search(rf"^  {name} +(.+)$", done.out, re.M)
        assert line, name
        assert not line[1].endswith("..."), f"{name}: what it does is cut off"
    for status in (0, 1, 2, 3, 4, 5, 6, 7, 130):
        assert f"{status} " in done.out.replace("\n", " ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_examples_that_hold(command: str) -> None:
    done = conspectus(command, "--help")
    assert (done.status, done.err) == (0, "")
    examples = done.out.partition("Examples:\n")[2].strip().splitlines()
    assert examples, "no example"
    for line in examples:
        words = shlex.split(line)
        assert words[:2] == ["conspectus", command]
        for option in (word for word in words if word.startswith("--")):
            assert f"{option} " in done.out.partition("Examples:")[0], f"{line}: no option {option}"


@pytest.mark.parametrize(
    ("words", "status"), [("--help", 0), ("index --help", 0), ("ask", 2), ("indx", 2), ("status --index nowhere", 4)]
)
def test_help_and_errors_are_ready_before_anything_heavy_is_imported(words: str, status: int) -> None:
    unused = [*HEAVY, "conspectus.storage.settings", "conspectus.pipelines.remote_index"]
    unused += ["asyncio", "filelock"]
    code = (
        f"import sys; sys.argv = ['conspectus', *{words.split()!r}]\n"
        "from conspectus.cli import main\n"
        "try: main()\n"
        f"finally: print([name for name in {unused!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == status
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_version() -> None:
    done = conspectus("--version")
    assert (done.status, done.err) == (0, "")
    assert re.fullmatch(r"conspectus \d+\.\d+\.\d+\n", done.out)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "Usage"),
        ("indx corpus", "'index'"),
        ("index", "INPUT"),
        ("index corpus --indx x", "--indx"),
        ("index corpus --set chunk_size=3", "section.key=value"),
        ("index corpus --set chunks.chunk_sizes=300", "did you mean chunks.chunk_size?"),
        ("index corpus --set chunks.chunk_size=many", "chunks.chunk_size"),
        ("index corpus --set chunks.chunk_size=1", "chunks.chunk_size"),
        ("index corpus --settings nowhere.yaml", "nowhere.yaml"),
        ("ask", "QUESTION"),
        ("ask ''", "empty"),
        ("ask Who? --level c9", "'c9'"),
        ("ask Who? --level c1 --method ppr", "--level is for global search, not for method 'ppr'"),
        ("ask Who? --level c1 --method global:c2", "--level is for global search, not for method 'global:c2'"),
        ("retrieve Who? --k 0", "--k"),
        ("retrieve", "give either a question or --questions FILE"),
        ("retrieve Who? --questions many.jsonl", "give either a question or --questions FILE"),
        ("retrieve --questions many.jsonl --session talk.jsonl", "--session is for one question"),
        ("retrieve Who? --k many", "--k"),
        ("evaluate suite --methods pqr", "did you mean 'ppr'?"),
        ("judge suite --methods ppr", "a comparison needs two"),
        ("judge suite --methods pqr,bm25", "did you mean 'ppr'?"),
        ("judge suite --methods ppr,bm25 --json nowhere/result.json", "no folder nowhere"),
        ("questions --to nowhere/questions.jsonl", "no folder nowhere"),
        ("questions --to occupied", "--force"),
        ("questions --to new.jsonl --users 0", "--users"),
        ("evaluate suite --methods ,", "names no method"),
        ("evaluate suite --k 0", "ranks of 1"),
        ("evaluate suite --k many", "'many'"),
        ("evaluate suite --json nowhere/result.json", "no folder nowhere"),
        ("init occupied", "is a file"),
    ],
)
def test_wrong_usage_is_status_2_and_names_what_is_wrong(words: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "occupied").touch()
    done = conspectus(*shlex.split(words))
    assert done.status == 2
    assert says in done.err
    assert done.out == ""
    assert "Traceback" not in done.err


def test_settings_of_file_and_environment_are_checked_alike(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.yaml").write_text("chunks:\n  chunk_sizes: 300\n", "utf-8")
    done = conspectus("index", corpus)
    assert done.status == 2
    assert "did you mean chunks.chunk_size?" in done.err
    assert "settings.yaml" in done.err
    for text in ("- a list", "{broken", "just words", "\x00", "chunks: 3"):
        (tmp_path / "settings.yaml").write_text(text, "utf-8")
        done = conspectus("index", corpus)
        assert (done.status, done.err.count("\n")) == (2, 1), done
    (tmp_path / "settings.yaml").unlink()
    for name in ("CONSPECTUS__CHUNKS__CHUNK_SIZES", "CONSPECTUS__CHUNK__CHUNK_SIZE", "CONSPECTUS__CHUNKS"):
        with monkeypatch.context() as set_for_now:
            set_for_now.setenv(name, "300")
            done = conspectus("index", corpus)
        assert (done.status, done.err.count("\n")) == (2, 1), done


@pytest.mark.parametrize("command", ["ask Who?", "retrieve Who?", "status", "verify"])
def test_a_folder_that_is_no_index_is_status_4(command: str, corpus: Path) -> None:
    for folder in (corpus, Path("nowhere"), corpus / "curie.txt"):
        done = conspectus(*shlex.split(command), "--index", folder)
        assert (done.status, done.out) == (4, "")
        assert done.err.count("\n") == 1
        assert str(folder) in done.err
        assert "conspectus index" in done.err, "and says what to do"


@pytest.mark.parametrize("command", ["ask", "retrieve"])
def test_an_unknown_method_names_the_nearest(command: str, index_root: Path) -> None:
    done = conspectus(command, "Who?", "--method", "hybird", "--index", index_root)
    assert (done.status, done.out) == (2, "")
    assert "did you mean 'hybrid'?" in done.err
    done = conspectus("retrieve", "Who?", "--method", "global", "--index", index_root)
    assert (done.status, done.out) == (2, "")


def test_init_writes_what_load_reads(tmp_path: Path) -> None:
    assert conspectus("init").status == 0
    assert (tmp_path / "settings.yaml").read_text("utf-8") == as_yaml()
    (tmp_path / "settings.yaml").write_text("changed", "utf-8")
    done = conspectus("init")
    assert (done.status, done.out) == (2, "")
    assert "--force" in done.err
    assert (tmp_path / "settings.yaml").read_text("utf-8") == "changed"
    assert conspectus("init", "--force").status == 0
    assert conspectus("init", "new/project").status == 0
    assert (tmp_path / "new" / "project" / "settings.yaml").read_text("utf-8") == as_yaml()


def test_index_prints_its_result_on_stdout_and_progress_on_stderr(corpus: Path, tmp_path: Path) -> None:
    done = conspectus("index", corpus)
    assert done.status == 0
    assert "published version" in done.out
    assert "2 documents, 2 chunks" in done.out
    assert re.search(r"^extract: \d+ of \d+ passages, ", done.err, re.M)
    assert (tmp_path / ".conspectus" / "index" / "CURRENT").is_file(), "the default place"
    again = conspectus("index", corpus, "--quiet")
    assert (again.status, again.err) == (0, "")
    assert "unchanged" in again.out
    status = conspectus("status")
    assert re.search(r"^ +2 documents, 118 characters$", status.out, re.M)
    assert re.search(r"^ +formats: \.txt 2$", status.out, re.M)
    assert re.search(r"^ +\d+ communities; on each level \(one can be on several\): (c0 \d+|none)", status.out, re.M)
    found = conspectus("retrieve", "Where was Marie Curie born?", "--method", "bm25")
    assert ", 1.00 of the best score)" in found.out.splitlines()[0]


def test_a_build_that_fails_at_once_leaves_no_folder(tmp_path: Path) -> None:
    done = conspectus("index", "nowhere", "--index", "new.index", "--quiet")
    assert (done.status, done.out) == (3, "")
    assert not (tmp_path / "new.index").exists()


def test_json_is_one_document_on_stdout(corpus: Path) -> None:
    done = conspectus("index", corpus, "--json")
    assert done.status == 0
    built = json.loads(done.out)
    assert built["unchanged"] is False
    assert built["rows"]["documents"] == 2

    asked = json.loads(conspectus("ask", "Where was Marie Curie born?", "--json").out)
    assert {"text", "span", "notes", "citations", "usage", "trace", "method"} <= set(asked)
    assert {"document_id", "start", "end", "quote"} <= set(asked["citations"][0])
    assert "Warsaw" in asked["text"]

    found = json.loads(conspectus("retrieve", "Where was Marie Curie born?", "--json", "--k", "1").out)
    assert set(found) == {"question", "method", "passages", "trace"}
    assert len(found["passages"]) == 1
    assert {"document_id", "chunk_id", "start", "end", "score", "text"} <= set(found["passages"][0])

    status = json.loads(conspectus("status", "--json").out)
    assert status["version"] == built["version"]
    assert status["failures"] == []
    assert json.loads(conspectus("verify", "--json").out)["problems"] == []
    assert list(json.loads(conspectus("methods", "--json").out)) == list(METHODS)


def test_a_file_of_questions_is_answered_line_by_line(index_root: Path, tmp_path: Path) -> None:
    asked = ["Where was Marie Curie born?", "Who wrote Carrie?\nAnd when?"]
    file = tmp_path / "questions.jsonl"
    write_rows(file, [{"id": f"q{i}", "question": each} for i, each in enumerate(asked)])
    told = conspectus("retrieve", "--questions", file, "--json", "--k", "2", "--index", index_root).out
    lines = [json.loads(line) for line in told.splitlines()]
    assert [each.pop("id") for each in lines] == ["q0", "q1"]
    for question, line in zip(asked, lines, strict=True):
        assert line == json.loads(conspectus("retrieve", question, "--json", "--k", "2", "--index", index_root).out)
    assert conspectus("retrieve", "--questions", tmp_path / "none.jsonl", "--index", index_root).status == 3
    text = conspectus("retrieve", "--questions", file, "--k", "1", "--index", index_root).out
    assert text.startswith("Where was Marie Curie born?\n1. ")


def test_ask_shows_answer_citations_and_trace(index_root: Path) -> None:
    question = "Who directed the film shot at Marrow, Vey in 1962?"
    done = conspectus("ask", question, "--trace", "--index", index_root)
    assert (done.status, done.err) == (0, "")
    assert "Nadia Frey" in done.out
    assert re.search(r"^\[1\] .+ \(.+, characters \d+-\d+\)$", done.out, re.M)
    assert "\ntrace\n" in done.out


def test_level_asks_the_reports_of_that_level(index_root: Path) -> None:
    for words in (("--level", "C0"), ("--level", "c0", "--method", "global")):
        done = conspectus("ask", "What are the main themes?", "--json", "--index", index_root, *words)
        assert json.loads(done.out)["method"].startswith("global:c0")


def test_a_question_of_broken_bytes_is_asked_all_the_same(index_root: Path) -> None:
    done = conspectus("retrieve", "Nadia Frey \udcff", "--k", "1", "--index", index_root)
    assert done.status == 0


def test_verify_names_what_is_damaged(index_root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(index_root, copy)
    victim = next(copy.glob("versions/*/entities.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    done = conspectus("verify", "--index", copy)
    assert done.status == 4
    assert done.out.startswith("entities.parquet: ")
    assert json.loads(conspectus("verify", "--json", "--index", copy).out)["problems"][0]["where"] == "entities.parquet"


def test_too_many_failures_are_published_with_status_5(corpus: Path) -> None:
    (corpus / "empty.txt").touch()
    done = conspectus("index", corpus, "--json", "--quiet")
    assert done.status == 5
    assert json.loads(done.out)["failures"] == 1
    assert "1 of 3 documents (33.3%) lost something, more than build.failure_threshold (5.0%)" in done.err
    assert "empty.txt: empty" in conspectus("status", "--failures").out
    allowed = conspectus("index", corpus, "--quiet", "--set", "build.failure_threshold=0.5")
    assert (allowed.status, allowed.err) == (0, "")
    assert "1 failure (1 of 3 documents)" in allowed.out


def test_an_api_that_does_not_answer_is_named(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    done = conspectus_apart("index", corpus)
    assert (done.status, done.out) == (2, "")
    assert "PREFECT_API_URL" in done.err
    assert "Traceback" not in done.err


def test_signs_that_a_terminal_cannot_show_do_not_stop_it(tmp_path: Path) -> None:
    done = conspectus_apart("init", "大学", cwd=tmp_path, PYTHONIOENCODING="latin-1")
    assert (done.status, done.out) == (0, "wrote \\u5927\\u5b66/settings.yaml\n")
    done = conspectus_apart("init", b"\xff", cwd=tmp_path)
    assert (done.status, done.out) == (0, "wrote \\udcff/settings.yaml\n")


def test_ctrl_c_ends_with_status_130_while_exec_makes_a_class() -> None:
    program = (
        "import signal, sys\nimport conspectus.cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # tests in the background ignore Ctrl-C
        "module = sys.modules['conspectus.cli.main']\n"
        "module.register = lambda command: lambda prog_name: exec('signal.raise_signal(signal.SIGINT)')\n"
        "module.program()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (130, "conspectus: interrupted; run the same command again to go on\n")


def test_a_process_ends_when_its_threads_and_exit_functions_have() -> None:
    work = (
        "import atexit, threading\n"
        "atexit.register(lambda: print('exit function'))\n"
        "threading.Thread(target=lambda: (threading.main_thread().join(), print('thread'))).start()\n"
        "print('answer')\n"
        "raise SystemExit(4)"
    )
    program = (
        "import sys\nfrom conspectus.cli import main as cli\n"
        "module = sys.modules['conspectus.cli.main']\n"
        f"module.register = lambda command: lambda prog_name: exec(compile({work!r}, 'work', 'exec'), {{}})\n"
        "module.program()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, "answer\nthread\nexit function\n", "")


@pytest.mark.parametrize(("command", "given", "threads"), [("ask", "", "1"), ("ask", "3", "3"), ("index", "", "")])
def test_asking_starts_no_threads(command: str, given: str, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "OPENBLAS_NUM_THREADS"
    monkeypatch.setenv(name, given) if given else monkeypatch.delenv(name, raising=False)
    program = (
        f"import os, sys\nsys.argv = ['conspectus', {command!r}]\nimport conspectus.cli\n"
        f"said = lambda prog_name: print(os.environ.get({name!r}))\n"
        "sys.modules['conspectus.cli.main'].register = lambda command: said\nconspectus.cli.program()"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == (threads or "None")


def test_a_reader_that_leaves_early_is_no_error(index_root: Path) -> None:
    process = start("status", "--json", "--index", index_root)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.wait(timeout=60)
    assert process.stderr.read() == b""
    process.stderr.close()
