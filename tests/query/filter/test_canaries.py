"""No word that only forbidden documents hold reaches a model, a server of vectors, or whoever asks: by any method."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.api import Index, open_index
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.steps import descriptions
from conspectus.query.menu import METHODS
from conspectus.storage.errors import ModelError
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, made_up
from tests.conftest import write_rows
from tests.graph_model import records

CANARIES = ("quixavane", "vexillar", "morvandel", "blenthorpe", "zyquorth", "wolfrin", "ANNA BERG")
"""In titles, a longer form of a title, a name, a text, metadata, an id; and a name as only forbidden texts write it."""
HIDDEN_QUESTIONS = (
    "Who is Morvandel Trask?",
    "What did Morvandel Trask tell Otto Brand about the Quixavane Report?",
    "What is blenthorp?",
    "How is Anna Berg connected with Morvandel Trask?",
)
"""They name or misspell what only forbidden texts have."""
OTHER = {"Morvandel": "Zendrovel", "Trask": "Glimp", "Quixavane": "Jospinard", "Vexillar": "Dromquist"}
OTHER |= {"blenthorpe": "gruthmarle"}
SECONDS = re.compile(r"seconds=[\d.e-]+")
QUESTIONS = ("What did Anna Berg do for Apollo Works in Port Alma?", "What are the main themes of the documents?")
OPEN = [
    ("Anna Berg", "Anna Berg founded Apollo Works in Port Alma. She led Apollo Works with Otto Brand for nine years."),
    ("Otto Brand", "Otto Brand was born in Port Alma. Otto Brand built engines that Anna Berg sold to Mary Quill."),
    ("Port Alma", "Port Alma lies on the Green River. Apollo opened its first yard in Port Alma near Harbour Street."),
    ("", "Mary Quill bought three engines of Apollo Works. Mary Quill sailed from Port Alma to North Bay."),
    ("Green River", "The Green River runs from North Bay to Port Alma. Anna Berg crossed the Green River by boat."),
    ("North Bay", "North Bay is a town on the Green River. Otto Brand and Mary Quill met in North Bay in 1931."),
]
SECRET = [
    ("Apollo (Vexillar)", "ANNA BERG met Morvandel Trask in Port Alma. ANNA BERG paid Morvandel Trask in blenthorpe."),
    (
        "Quixavane Report",
        "Morvandel Trask owned Apollo Works. Otto Brand told Morvandel Trask of the Quixavane Report.",
    ),
    ("Morvandel Trask", "ANNA BERG and Otto Brand feared Morvandel Trask. ANNA BERG hid in North Bay with blenthorpe."),
    ("", "Mary Quill wrote the Quixavane Report in North Bay. Mary Quill carried blenthorpe over the Green River."),
]


def leaky(request: FakeRequest) -> FakeReply | str:
    """Extract names, and sum up by saying every word of the prompt that should stay where it is."""
    form = json.dumps(request.body.get("response_format", "")) + request.last
    words = " ".join(dict.fromkeys(re.findall("|".join(CANARIES), request.prompt, re.IGNORECASE))) or "nothing"
    if "findings" in form:
        labels = re.findall(r"(?m)^\[([ERC]\d+)\]", request.prompt)[:2]
        finding = {"summary": words, "explanation": f"It says {words}.", "records": labels}
        return json.dumps(
            {"title": words, "summary": words, "rating": 5, "rating_explanation": "", "findings": [finding]}
        )
    if '"required": ["description"]' in form:
        return json.dumps({"description": f"It says {words}."})
    if "<|>" in request.prompt:
        return records(request.last).replace("is named in it", f"is named with {words}")
    return made_up(request)[:200] if "response_format" not in request.body else made_up(request)


def chosen(server: FakeServer, model: str, **sections: dict[str, object]) -> Settings:
    return load_settings(
        overrides={
            "extraction": {"pipeline": "regex"},
            "embedding": {"provider": "endpoint", "model": "e"},
            "embedding_server": {"base_url": server.url},
            "llm": {"model": model, "base_url": server.url, "attempts": 1},
            "reports": {"min_size": 2},
            "ircot": {"max_steps": 2},
            "rerank": {"candidates": "bm25"},
            **sections,
        }
    )


def built(folder: Path, model: str, secret: Sequence[tuple[str, str]] = SECRET) -> Path:
    rows = [
        {"id": f"open-{place}", "title": title, "text": text, "access": "team-a" if place % 2 else "", "year": 2021}
        for place, (title, text) in enumerate(OPEN)
    ]
    rows += [
        {"id": f"wolfrin-{place}", "title": title, "text": text, "access": ["team-b"], "year": 2010, "by": "zyquorth"}
        for place, (title, text) in enumerate(secret)
    ]
    write_rows(folder / "corpus.jsonl", rows)
    with FakeServer(leaky) as server:
        with patch.object(descriptions, "DESCRIPTION_TOKENS", 8):
            report = build_index([folder / "corpus.jsonl"], folder / "index", chosen(server, model))
        assert not report.failures
    return folder / "index"


@pytest.fixture(scope="module", params=["", "m"], ids=["without a model", "with a model"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of both kinds of documents, extracted and summed up without a model or by one that tells all."""
    return built(tmp_path_factory.mktemp("permitted"), request.param)


@pytest.fixture(params=["", "m"], ids=["asked without", "asked with"])
def asking(
    request: pytest.FixtureRequest, made: Path, cross_encoder: Path
) -> Iterator[tuple[Index, FakeServer, Callable[[str], bool]]]:
    """The index, the server that it asks, and whether a method can be asked at all."""
    with FakeServer(leaky) as server:
        settings = chosen(server, request.param, rerank={"candidates": "bm25", "model": str(cross_encoder)})
        yield open_index(made, settings), server, lambda name: bool(request.param) or not METHODS[name].needs_model


def told(index: Index, method: str, questions: Sequence[str] = QUESTIONS) -> list[str]:
    """Return all that comes of asking with a method: answer, citations, evidence, steps, passages."""
    found: list[str] = []
    for question in questions:
        try:
            found.append(repr(index.ask(question, method)))
        except ModelError as error:
            found.append(str(error))
        if METHODS[method].retrieves:
            found.append(repr(index.retrieve(question, method)))
    return [SECONDS.sub("", text) for text in found]


def seen(texts: list[str]) -> set[str]:
    text = "\n".join(texts)
    return {each for each in CANARIES if each in (text if each.isupper() else text.lower())}


def requests(server: FakeServer) -> list[str]:
    return [json.dumps(each.body, ensure_ascii=False) for each in server.requests]


def test_no_method_lets_a_forbidden_word_out(asking: tuple[Index, FakeServer, Callable[[str], bool]]) -> None:
    index, server, can_be_asked = asking
    narrow = index.filter(access=["team-a"]) if can_be_asked("io") else index.filter(where="year >= 2020")
    for method in filter(can_be_asked, METHODS):
        before = len(server.requests)
        assert seen(told(narrow, method)) == set(), method
        assert seen(requests(server)[before:]) == set(), method
    assert seen([repr(narrow.reports())]) == set()
    assert seen([repr(narrow.explain(QUESTIONS[0], method)) for method in ("ppr", "bm25", "ppr:hipporag2")]) == set()


def test_no_page_of_a_wiki_has_a_forbidden_word(made: Path, tmp_path: Path) -> None:
    index = open_index(made)
    for name, view in {"some": index.filter(access=["team-a"]), "all": index}.items():
        files = view.export("wiki", tmp_path / name).files
        found = seen([f"{file}\n{file.read_text('utf-8')}" for file in files])
        assert found == (set() if name == "some" else set(CANARIES)), name


def test_the_same_words_are_out_where_nothing_is_forbidden(
    asking: tuple[Index, FakeServer, Callable[[str], bool]],
) -> None:
    index, server, _ = asking
    found = [text for method in ("bm25", "local", "global", "ppr:hipporag2") for text in told(index, method)]
    assert seen(found) >= set(CANARIES) - {"zyquorth"}
    assert not index.context.settings.llm.model or seen(requests(server)) >= {"quixavane", "morvandel", "blenthorpe"}


def test_what_is_said_does_not_depend_on_forbidden_words(made: Path, tmp_path: Path) -> None:
    """A question that names or misspells a hidden word is answered as if hidden documents had other words."""
    secret = [(replaced(title), replaced(text)) for title, text in SECRET]
    with FakeServer(leaky) as server:
        by_model = open_index(made).context.index.manifest.models["extraction"] == "m"
        other = built(tmp_path, "m" if by_model else "", secret)
        narrow = [open_index(folder, chosen(server, "")).filter(where="year >= 2020") for folder in (made, other)]
        for method in (name for name, each in METHODS.items() if each.missing(chosen(server, "")) is None):
            ours, theirs = (told(index, method, HIDDEN_QUESTIONS) for index in narrow)
            assert ours == theirs, method


def replaced(text: str) -> str:
    return re.sub("|".join(OTHER), lambda match: OTHER[match[0]], text)
