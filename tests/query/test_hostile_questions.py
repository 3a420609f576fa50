"""No question and no filter costs more than linear work, whatever it is made of.

The bound of two seconds holds on a machine that does nothing else, and `python -m benchmarks.hostile` measures all
questions with all methods. Here each question is asked with one method, in turn, and the bound is wider: another
program on the machine must not fail a test, and what is not linear takes ten times as long.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from string import ascii_lowercase
from time import process_time

import conspectus
import pytest
from conspectus.api import AsyncIndex
from conspectus.entities import entity_detail, entity_rows
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.conversation.history import CitedSpan, Conversation, Turn
from conspectus.query.explain.explain import EXPLAINED
from conspectus.query.filter.documents import filtered
from conspectus.query.menu import METHODS
from conspectus.query.question.bounds import MOST_CHARACTERS
from conspectus.query.types import TopicAnswerer
from conspectus.storage.errors import NotThere, UnknownMethod
from conspectus.storage.settings import load_settings
from conspectus.storage.text.language import detect

from tests.query import films

MOST_SECONDS = 6.0
NAMES = sorted({name for subject, _, other in films.TRIPLES for name in (subject, other)})
ORDINARY = (
    "Is the flim by Quxly older than 3?", "Wer hat Grey Heron gedrehtt?", "What are the main themes?", "中文",
    " ".join(f"{letter}qqxzz" for letter in ascii_lowercase),
)  # fmt: skip
"""Questions after which everything is loaded that is loaded once: encoders, word lists, languages, patterns."""


def many(said: str, characters: int = MOST_CHARACTERS) -> str:
    """Return a text again and again, cut at a length."""
    return (said * (characters // len(said) + 1))[:characters]


def names(between: str, count: int) -> str:
    return between.join(islice(cycle(NAMES), count))


def unknown_words(letters: int) -> str:
    """Return words that no list has."""
    chosen = random.Random(letters)
    return " ".join("".join(chosen.choices(ascii_lowercase, k=letters)) for _ in range(1_000))


QUESTIONS = {
    **{repr(said): many(said) for said in (
        "1,", "中", "a ", "A.", "((", "\"'`“”„«»‘’", "[]{}<>()", "Who ", "Who a ", "1", "1.1.1990 ", "is ", "not ",
        "Aя中א1ع ", "👩\u200d👩\u200d👧\u200d👦", "\u200b\u200c\u200d\ufeff", "\u202eאבג ", "a\n", "+#", "'s ", "!?",
        "_a", "http://a.b/ ", "a\0", "\ud800", "film directed by ", "Ada Mirren's ", "compare x and ", "better ",
        "what does ", "between 1 and ", "Which is older, ", "how many ", "wer hat ", "databse ", "mejor ", "was ist ",
    )},
    "combining marks": "e" + many("\u0301"),
    "one word": many("abcdefgh"),
    "what one word is": f"What is {many('a', 7_900)} b c d e",
    "newlines": "\n" * 3_900 + "a" + "\n" * 3_900,
    "spaces": "a" + " " * 7_900 + "b",
    "2,000 names": names(", ", 2_000),
    "names and names": names(" and ", 500),
    "unknown words": unknown_words(7),
    "long words": f"Who directed Grey Heron {unknown_words(130)[:7_900]}",
    "connected": f"how is {many('a to ', 7_900)}connected to b",
    "100,000 characters": many("1,", 100_000),
    "100,000 characters in unknown words": many(unknown_words(8) + " ", 100_000),
}  # fmt: skip
EVERY_ROUTE = ("'1,'", "'中'", "2,000 names", "unknown words")
"""Questions that are asked by every route."""
FILTERS = {
    "pieces": "title like '" + "%_" * 1_000 + "%§'",
    "characters": "title like '%" + "_" * 4_000 + "a%'",
    "list": "title in (" + ", ".join(f"t{number}" for number in range(900)) + ")",
    "numbers": "title in (" + ", ".join(map(str, range(900))) + ")",
    "comparisons": " or ".join(["title like '%a_a_a_a%b'"] * 50),
    "negations": "not " * 49 + "title = x",
    "parentheses": "(" * 49 + "title = x" + ")" * 49,
    "huge number": "title = " + "1" * 9_000,
    "long text": "title contains '" + "a" * 9_000 + "'",
    "folded": "title endswith '" + "ß" * 9_000 + "'",
}


@pytest.fixture(scope="module")
def index(films_and_pages: Context, reranking: dict[str, dict[str, object]]) -> AsyncIndex:
    """The graph of films with its pages, after some questions."""
    chosen = load_settings(overrides={**reranking, "answer": {"passages": 2}})
    found = AsyncIndex(Context(films_and_pages.index, chosen))
    detect("Und wenn sie nicht gestorben sind, dann leben sie noch heute.")
    for question, methods in zip(ORDINARY, (answering(), *[["auto"]] * 4), strict=True):
        for name in methods:
            asyncio.run(found.ask(question, name))
    return found


def answering() -> list[str]:
    """Return the methods that need no model."""
    return [name for name, method in METHODS.items() if not method.needs_model]


def works(index: AsyncIndex, question: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each way to ask a question, and what asks it."""
    for name in answering():
        yield name, lambda name=name: asyncio.run(index.ask(question, name))
    yield "retrieve", lambda: asyncio.run(index.retrieve(question))
    for name in EXPLAINED:
        yield f"explain {name}", lambda name=name: asyncio.run(index.explain(question, name))


def slow(works: Iterable[tuple[str, Callable[[], object]]]) -> dict[str, float]:
    """Return what takes too long, with its seconds."""
    found = {}
    for name, work in works:
        before = process_time()
        work()
        found[name] = round(process_time() - before, 2)
    return {name: seconds for name, seconds in found.items() if seconds > MOST_SECONDS}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_method_takes_long(index: AsyncIndex, question: str) -> None:
    names = answering()
    chosen = names[list(QUESTIONS).index(question) % len(names)]
    assert not slow(work for work in works(index, QUESTIONS[question]) if work[0] == chosen)


@pytest.mark.parametrize("kind", ["retrieve", *(f"explain {name}" for name in EXPLAINED)])
def test_no_retrieval_or_explanation_takes_long(index: AsyncIndex, kind: str) -> None:
    assert not slow(work for question in EVERY_ROUTE for work in works(index, QUESTIONS[question]) if work[0] == kind)


@pytest.mark.parametrize("question", EVERY_ROUTE)
def test_no_other_text_of_a_reader_takes_long(index: AsyncIndex, question: str) -> None:
    said = QUESTIONS[question]
    document = next(iter(documents_by_id(index.context)))
    cited = (CitedSpan(document, 0, 50),)
    history = Conversation((Turn(said, said, said, ""), Turn("Who made it?", "Who made it?", said, "", cited)) * 5)
    walking = [name for name in answering() if isinstance(METHODS[name].answerer(index.context), TopicAnswerer)]

    def looked_up() -> None:
        entity_rows(index.context, said)
        with pytest.raises(NotThere):
            entity_detail(index.context, said, 5)

    def no_method() -> None:
        with pytest.raises(UnknownMethod):
            asyncio.run(index.ask("Who?", said))

    assert not slow([
        ("history", lambda: asyncio.run(index.ask("And who directed it?", "bm25", history=history))),
        ("follow-up", lambda: asyncio.run(index.ask(said, "bm25", history=history))),
        ("retrieval of a follow-up", lambda: asyncio.run(index.retrieve(said, "bm25", history=history))),
        *((name, lambda name=name: asyncio.run(index.ask("Who?", name, topics=[said] * 20))) for name in walking),
        ("entities", looked_up),
        ("method", no_method),
    ])  # fmt: skip


def test_no_heading_takes_long(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, heading in {"number": "1" * 60, "numbers": "1." * 5_000}.items():
        (documents / f"{name}.md").write_text(f"# {heading}x the gate\n\nAda Holm keeps the gate.\n", "utf-8")
    held = conspectus.build(documents, tmp_path / "index").aio
    assert not slow(work for work in works(held, "Who keeps the gate?") if work[0] in ("bm25", "global", "lazy"))


@pytest.mark.parametrize("where", FILTERS.values(), ids=list(FILTERS))
def test_no_filter_takes_long(index: AsyncIndex, where: str) -> None:
    assert not slow([("filter", lambda: filtered(index.context, where, None))])


def test_what_is_not_read_is_told(index: AsyncIndex) -> None:
    long, longer = "Who directed Grey Heron? " * 40, "Who directed Grey Heron? " * 400
    told = asyncio.run(index.ask(long, "sparql")).trace[0]
    assert told.detail == (
        "it has 160 words: the first 60 are corrected, read as a query of the graph, and asked again with names"
    )
    answer = asyncio.run(index.ask(longer, "bm25"))
    assert answer.question == longer
    assert answer.trace[0].detail.startswith(
        "it has 10,000 characters: the first 8,000 are read; the encoder reads 512"
    )
    assert "it has 1,280 words: names are looked for in the first 250" in answer.trace[0].detail
    assert asyncio.run(index.retrieve(longer, "bm25")).trace[0] == answer.trace[0]
    assert asyncio.run(index.explain(longer, "bm25")).trace[0] == answer.trace[0]
