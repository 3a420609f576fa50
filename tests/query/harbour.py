"""A small index that a scripted model made, with everything local search can show, claims among it."""

from collections.abc import Mapping
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeRequest, FakeServer
from tests import graph_model
from tests.conftest import write_rows
from tests.tags import inside

PASSAGES = {
    "Harbour Bank": "Mary Quill founded the Harbour Bank in Port Alma in 1911. Otto Brand was her partner.",
    "Otto Brand": "Otto Brand sold his share to Lena Fisk in 1920. He took money of the Harbour Bank, Mary Quill said.",
    "Port Alma": "Port Alma is a town with a harbour. Lena Fisk was the mayor of Port Alma until 1931.",
    "Lena Fisk": "Lena Fisk wrote a book about ferries with Hugo Wren. Hugo Wren drew its maps.",
    "Salt": "Salt was made in pans north of the town. The last pan was closed in 1950.",
}

CLAIM = (
    '("claim"<|>"Otto Brand"<|>"Harbour Bank"<|>"theft"<|>"SUSPECTED"<|>"1920"<|>"1920"<|>'
    '"Mary Quill said that Otto Brand took money of the Harbour Bank."<|>'
    '"He took money of the Harbour Bank, Mary Quill said.")##\n<|COMPLETE|>'
)


def reply(request: FakeRequest) -> str:
    """Return the claim for the text that makes it, else what the rule-made model says, reports named after members."""
    if "write records of the claims that it makes" in request.prompt:
        return CLAIM if "<text>" in request.last and "He took money" in inside(request.last, "text") else "<|COMPLETE|>"
    made = graph_model.reply(request)
    names = ", ".join(dict.fromkeys(graph_model.NAME.findall(request.last)))
    return made.replace('"title": "A group"', f'"title": "{names or "A group"}"')


def build(folder: Path) -> Context:
    """Build the index and open it without a model."""
    write_rows(
        folder / "corpus.jsonl", [{"id": title, "title": title, "text": text} for title, text in PASSAGES.items()]
    )
    with FakeServer(reply) as server:
        llm = {"model": "m", "base_url": server.url, "attempts": 1}
        chosen = load_settings(overrides={"llm": llm, "extraction": {"claims": True}, "reports": {"min_size": 2}})
        report = build_index([folder / "corpus.jsonl"], folder / "index", chosen)
    assert not report.failures, report.failures
    return Context(StoredIndex.open(folder / "index"), load_settings())


def choosing(context: Context, **sections: Mapping[str, object]) -> Context:
    """The same index with other settings: `local_search={"entities": 3}`."""
    changed = {name: getattr(context.settings, name).model_copy(update=keys) for name, keys in sections.items()}
    settings: Settings = context.settings.model_copy(update=changed)
    return Context(context.index, settings)
