import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from conspectus.prompts.replies.json_repair import JsonReading, Value, read_values
from conspectus.prompts.replies.typed import read_answer, read_choice
from conspectus.storage.errors import BadAnswer
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel


class Entity(BaseModel):
    name: str
    type: str = "unknown"
    description: str = ""


class Relationship(BaseModel):
    source: str
    target: str
    weight: float
    directed: bool = False


class Graph(BaseModel):
    entities: list[Entity]
    relationships: list[Relationship] = []


class Entities(BaseModel):
    entities: list[Entity]


class Finding(BaseModel):
    summary: str
    explanation: str


class Report(BaseModel):
    title: str
    summary: str
    rating: float
    findings: list[Finding]


class Score(BaseModel):
    score: int
    reason: str


class Choice(BaseModel):
    answer: str = "none"
    tags: list[str] = []


class TwoWords(BaseModel):
    a: int


class Numbers(BaseModel):
    numbers: list[int]


class Anything(BaseModel):
    a: Any


RENN = Entity(name="Renn", type="person", description="a captain")
ROKE = Entity(name="Roke", type="person", description="a poet, drowned")
BOTH = Graph(entities=[RENN, ROKE], relationships=[Relationship(source="Renn", target="Roke", weight=9)])
PLAIN = json.dumps(BOTH.model_dump())
SCORE = Score(score=8, reason="it is clear")
CUT = "cut off"

# What comes of a reply: the kind of damage, the reply, the schema, and the record or the beginning of the reason.
READ: list[tuple[str, str, type[BaseModel], BaseModel]] = [
    ("typographic quotes", '{“score”: 8, "reason": “it is "clear"”}', Score, Score(score=8, reason='it is "clear"')),
    ("fence of tildes", f"~~~json\n{PLAIN}\n~~~", Graph, BOTH),
    ("fence on one line", f"```json {PLAIN} ```", Graph, BOTH),
    ("thinking, opened by the prompt", f'First {{"score": 3}}.\n</think>\n{SCORE.model_dump_json()}', Score, SCORE),
    ("thinking, other tag", f"[THINK]8, I think.[/THINK]{SCORE.model_dump_json()}", Score, SCORE),
    ("thinking, triangles", f'◁think▷{{"score": 3, "reason": ""}}◁/think▷{SCORE.model_dump_json()}', Score, SCORE),
    (
        "thinking, channels",
        '<|channel|>analysis<|message|>{"score": 3, "reason": ""}<|end|><|start|>assistant<|channel|>commentary'
        "<|message|>So:<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>"
        f"{SCORE.model_dump_json()}<|return|>",
        Score,
        SCORE,
    ),
    ("tag in a string", '{"score": 8, "reason": "a </think> tag",}', Score, Score(score=8, reason="a </think> tag")),
    ("no comment", '{"score": 8, "reason": "see http://a.b/*c",}', Score, Score(score=8, reason="see http://a.b/*c")),
    ("python quotes", """{'score': 8, 'reason': "it's \\"so\\""}""", Score, Score(score=8, reason='it\'s "so"')),
    ("number as a string", '{"score": "8", "reason": "it is clear"}', Score, SCORE),
    ("under its own name", f'{{"graph": {PLAIN}}}', Graph, BOTH),
    ("a list of one", f"[{PLAIN}]", Graph, BOTH),
    ("a text of JSON", json.dumps(PLAIN), Graph, BOTH),
    ("under its own name, in a prompt's case", '{"Two_words": {"a": 1}}', TwoWords, TwoWords(a=1)),
    (
        "half a pair",
        r'{"score": 8, "reason": "\ud83d \udE00\ud83d\ude00 \\ud83d"}',
        Score,
        Score(score=8, reason="� �😀 \\ud83d"),
    ),
    ("bare list", '[{"name": "a"}, {"name": "b"}]', Entities, Entities(entities=[Entity(name="a"), Entity(name="b")])),
    ("bare empty list", "[]", Entities, Entities(entities=[])),
    ("schema, then answer", f"{json.dumps(Graph.model_json_schema())}\n{PLAIN}", Graph, BOTH),
    ("another value first", f'{{"plan": ["read", "write"]}}\n{SCORE.model_dump_json()}', Score, SCORE),
    ("twice the same", f"{PLAIN}\nAgain:\n{BOTH.model_dump_json(indent=1)}", Graph, BOTH),
    ("key twice, the same", '{"score": 8, "score": 8, "reason": "it is clear"}', Score, SCORE),
    ("upper case", '{"Answer": "yes"}', Choice, Choice(answer="yes")),
    ("list of its own", "```[1, 2]```", Numbers, Numbers(numbers=[1, 2])),
]
REFUSED: list[tuple[str, str, type[BaseModel], str]] = [
    ("empty", "", Graph, "empty"),
    ("refusal", "I'm sorry, but I can't help with that.", Graph, "no JSON"),
    ("page of an error", "<!DOCTYPE html><html><body>502 {}</body></html>", Choice, "an HTML page"),
    ("schema only", json.dumps(Report.model_json_schema()), Report, "the schema itself"),
    ("another object, all optional", '{"reply": "yes"}', Choice, "not of the form asked for: it has none of the keys"),
    ("empty object in prose", "The set is {} here.", Choice, "not of the form asked for: it has none of the keys"),
    ("field missing", '{"score": 8}', Score, "not of the form asked for: reason"),
    (
        "a draft before",
        '{"score": 7, "reason": "a"}. Better: {"score": 8, "reason": clear}',
        Score,
        "not JSON",
    ),
    (
        "key twice, not the same",
        '{"score": 8, "score": 7, "reason": "a"}',
        Score,
        "not JSON: it gives a key twice",
    ),
    ("true for 1", '{"score": 8, "score": 8.0, "reason": "a"}', Score, "not JSON: it gives a key twice"),
    ("NaN", '{"source": "a", "target": "b", "weight": NaN}', Relationship, "not JSON: it holds NaN"),
    (
        "NaN, quoted",
        '{"source": "a", "target": "b", "weight": "NaN"}',
        Relationship,
        "not of the form asked for: a number",
    ),
    ("not a JSON number", '{"source": "a", "target": "b", "weight": 1_0}', Relationship, "not JSON"),
    ("bare string", '{"score": 8, "reason": clear}', Score, "not JSON"),
    ("comment", '{"score": 8, // of 10\n"reason": "it is clear"}', Score, "not JSON"),
    ("typographic quotes inside typographic ones", "{“score”: 8, “reason”: “it “is” clear”}", Score, "cut off"),
    ("bare keys", '{score: 8, reason: "it is clear"}', Score, "not JSON"),
    ("quote not escaped before the last", '{"score": 8, "reason": "he said "humbug"}', Score, "not JSON: it continues"),
    ("hole in a list", "[1,,2]", Numbers, "not JSON"),
    ("two quotes missing around a key", '{"score": 8, "reason": "0, "note": 0"}', Score, "not JSON"),
    ("quotes that look like JSON", '{"score": 8, "reason": "a ("b", "c") d"}', Score, "not JSON"),
    ("string that looks like a comment", '{"tags": [\n// a",\n"b"]}', Choice, "not JSON"),
    ("unknown escape", '{"score": 8, "reason": "\\alpha"}', Score, "not JSON: Invalid"),
    ("first bracket missing", '"answer": "x", "tags": ["a"]}', Choice, "not JSON: a value in it is part"),
    ("brackets crossed", '{"entities": [{"name": "a"]}', Entities, "not JSON: its brackets"),
    ("comma missing between numbers", "[1 2]", Numbers, "not JSON"),
    ("too deep", "[" * 100_000, Entities, "not JSON"),
    ("integer of too many digits", '{"score": ' + "8" * 10_000 + ', "reason": ""}', Score, "not JSON: Exceeds"),
    ("thinking without an end", f"<think>Well. {PLAIN}", Graph, "all reasoning"),
    ("only thinking", f"<reasoning_content>{PLAIN}</reasoning_content>I do not know", Graph, "no JSON"),
    (
        "only thinking, channels",
        f"<|channel|>analysis<|message|>{PLAIN}<|end|><|channel|>final<|message|>No answer",
        Graph,
        "no JSON",
    ),
    ("thinking after all", f"{PLAIN}</think> I do not know", Graph, "it is unclear which part of it is thinking"),
    *(
        (f"under {key}", f'{{"{key}": {PLAIN}}}', Graph, "not of the form asked for: it has none of the keys")
        for key in ("rejected", "error", "example", "not_graph")
    ),
    (
        "key misspelt",
        '{"answer": "x", "tag": ["a"]}',
        Choice,
        "not of the form asked for: it has the unknown key 'tag'",
    ),
]
# What is salvaged of a reply that is cut.
CUT_REPLIES: list[tuple[str, str, type[BaseModel], BaseModel | None]] = [
    ("in a string", '{"entities": [{"name": "a"}, {"name": "b', Graph, Graph(entities=[Entity(name="a")])),
    ("after all elements", '{"entities": [{"name": "a"}]', Graph, Graph(entities=[Entity(name="a")])),
    ("in a number", "[10, 12", Numbers, Numbers(numbers=[10])),
    ("after a whole string", '{"tags": ["a", "b"', Choice, Choice(tags=["a", "b"])),
    ("in a member", '{"tags": ["a"], "Answer": "x', Choice, Choice(tags=["a"])),
    ("before what is required", '{"title": "x", "summary": "y", "findings": [{"summary": "s", ', Report, None),
    ("number at the end", '{"reason": "it is clear", "score": 8', Score, None),
    ("last bracket missing", '{"score": 8, "reason": "it is clear"', Score, SCORE),
    ("inner object not closed", '{"Answer": "x", "inner": {"tags": "a"', Choice, Choice(answer="x")),
    ("after a draft", f'{PLAIN}\nBetter: {{"entities": [', Graph, Graph(entities=[])),
]


@pytest.mark.parametrize(("kind", "reply", "schema", "record"), READ, ids=[row[0] for row in READ])
def test_a_reply_is_read(kind: str, reply: str, schema: type[BaseModel], record: BaseModel) -> None:
    assert read_answer(reply, schema) == record


@pytest.mark.parametrize(("kind", "reply", "schema", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_reply_is_refused(kind: str, reply: str, schema: type[BaseModel], reason: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        read_answer(reply, schema)
    assert caught.value.reason.startswith(reason)
    assert (caught.value.raw, caught.value.salvaged) == (reply, None)


@pytest.mark.parametrize("cut_off", [True, False])
@pytest.mark.parametrize(("kind", "reply", "schema", "salvaged"), CUT_REPLIES, ids=[row[0] for row in CUT_REPLIES])
def test_what_was_complete_is_salvaged(
    kind: str, reply: str, schema: type[BaseModel], salvaged: BaseModel | None, cut_off: bool
) -> None:
    with pytest.raises(BadAnswer) as caught:
        read_answer(reply, schema, cut_off=cut_off)
    assert (caught.value.reason, caught.value.raw, caught.value.salvaged) == (CUT, reply, salvaged)


@pytest.mark.parametrize("reply", [PLAIN, f"```json\n{PLAIN}\n``", f"{PLAIN} I hope th"])
def test_a_whole_record_before_the_cut_is_salvaged(reply: str) -> None:
    with pytest.raises(BadAnswer) as caught:
        read_answer(reply, Graph, cut_off=True)
    assert (caught.value.reason, caught.value.salvaged) == (CUT, BOTH)


# ---- laws

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tricky = st.lists(
    st.sampled_from(
        ['"', "'", "\\", "\n", ", ", ": ", "{", "}", "[", "]", "//", "/*", "*/", "```", " a ", "b", "“", "</think>"]
    ),
    max_size=8,
).map("".join)
texts = words | tricky
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float)
graphs = st.builds(
    Graph,
    entities=st.lists(st.builds(Entity, name=texts, type=texts, description=texts), max_size=3),
    relationships=st.lists(
        st.builds(Relationship, source=texts, target=texts, weight=numbers, directed=st.booleans()), max_size=3
    ),
)


@st.composite
def renderings(draw: st.DrawFn) -> tuple[Graph, str]:
    graph = draw(graphs)
    indent, ascii_only = draw(st.sampled_from([None, 1, 2])), draw(st.booleans())
    return graph, json.dumps(graph.model_dump(), indent=indent, ensure_ascii=ascii_only)


def marks_of(rendered: str) -> list[int]:
    """Return the offsets of the characters of strict JSON that are structure: brackets, colons, commas, quotes."""
    outside = re.sub(r'"((?:[^"\\]|\\.)*)"', lambda m: '"' + "x" * len(m[1]) + '"', rendered, flags=re.DOTALL)
    return [i for i, character in enumerate(outside) if character in '{}[]:,"']


def is_beginning(part: object, whole: Graph) -> bool:
    assert isinstance(part, Graph)
    n, m = len(part.entities), len(part.relationships)
    return part.entities == whole.entities[:n] and part.relationships == whole.relationships[:m]


def answer_or_bad(reply: str, schema: type[BaseModel], *, cut_off: bool = False) -> BaseModel | BadAnswer:
    try:
        return read_answer(reply, schema, cut_off=cut_off)
    except BadAnswer as bad:
        return bad


def assert_never_another(reply: str, graph: Graph, *, cut_off: bool = False) -> bool:
    """Check the law: the record that was meant or BadAnswer. Return whether it is the record."""
    record = answer_or_bad(reply, Graph, cut_off=cut_off)
    if isinstance(record, BadAnswer):
        assert record.raw == reply
        assert record.salvaged is None or is_beginning(record.salvaged, graph)
        return False
    assert record == graph
    return True


def with_commas(rendered: str) -> str:
    """Return it with a comma before every closing bracket that has something before it."""
    marks = set(marks_of(rendered))
    closing = {i for i in marks if rendered[i] in "]}" and rendered[:i].rstrip()[-1] not in "[{"}
    return "".join(("," if i in closing else "") + character for i, character in enumerate(rendered))


HARMLESS: dict[str, Callable[[str], str]] = {
    "nothing": lambda rendered: rendered,
    "fence": lambda rendered: f"```json\n{rendered}\n```",
    "fence not closed": lambda rendered: f"```\n{rendered}",
    "prose": lambda rendered: f"Here's what I found [see below]:\n{rendered}\nIs it {{good}}?",
    "thinking": lambda rendered: f'<think>{{"entities": [</think>{rendered}',
    "trailing commas": with_commas,
    "python": lambda rendered: repr(json.loads(rendered)),
    "wrapped": lambda rendered: f'{{"answer": {rendered}}}',
    "byte order mark": lambda rendered: f"\ufeff{rendered}",
}


@pytest.mark.parametrize("kind", HARMLESS)
@settings(max_examples=40, deadline=None)
@given(case=renderings())
def test_harmless_damage_is_mended(kind: str, case: tuple[Graph, str]) -> None:
    graph, rendered = case
    read = assert_never_another(HARMLESS[kind](rendered), graph)
    if (
        kind != "python" and "</think" not in rendered.lower()
    ):  # Python has escapes of its own, thinking ends at the tag
        assert read


@settings(max_examples=400, deadline=None)
@given(case=renderings(), data=st.data())
def test_a_lost_or_doubled_mark_is_never_another_record(case: tuple[Graph, str], data: st.DataObject) -> None:
    graph, rendered = case
    at = data.draw(st.sampled_from(marks_of(rendered)))
    kept = data.draw(st.sampled_from(["", rendered[at] * 2]))
    assert_never_another(rendered[:at] + kept + rendered[at + 1 :], graph)


@settings(max_examples=300, deadline=None)
@given(case=renderings(), data=st.data(), kind=st.sampled_from([*HARMLESS]), cut_off=st.booleans())
def test_a_cut_anywhere_is_never_another_record(
    case: tuple[Graph, str], data: st.DataObject, kind: str, cut_off: bool
) -> None:
    graph, rendered = case
    damaged = HARMLESS[kind](rendered)
    at = data.draw(st.integers(0, len(damaged)))
    read = assert_never_another(damaged[:at], graph, cut_off=cut_off)
    assert not (read and cut_off)


@given(st.lists(st.sampled_from(["he", "said", '"humbug"', "(", '"no way"', "twice", "."]), max_size=8))
def test_quotes_not_escaped_are_never_another_record(parts: list[str]) -> None:
    said = " ".join(parts)
    graph = Graph(entities=[Entity(name="a", type="b", description=said), Entity(name=said, type="", description="")])
    assert_never_another(json.dumps(graph.model_dump()).replace('\\"', '"'), graph)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("{}[]\"',:/*\\`<> \n1ae-.“”")))
def test_any_text_ends_in_an_answer_or_a_bad_answer(text: str) -> None:
    for schema in (Choice, Entities, Numbers):
        record = answer_or_bad(text, schema)
        if isinstance(record, BadAnswer):
            assert record.raw == text
        else:
            assert read_answer(record.model_dump_json(), schema) == record


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(value=json_values, indent=st.sampled_from([None, 2]))
def test_strict_json_is_read_as_it_is(value: object, indent: int | None) -> None:
    assert read_values(json.dumps(value, indent=indent)) == JsonReading((Value(value, alone=True),))


@settings(max_examples=100, deadline=None)
@given(value=st.lists(json_values) | st.dictionaries(texts, json_values))
def test_python_is_read_as_json_or_not_at_all(value: object) -> None:
    reading = read_values(f"{value!r}\nDone.")
    assert reading.flaw or reading.cut or [one.content for one in reading.values] in ([value], [])


def test_work_is_bounded() -> None:
    length = 2_000_000
    units = (
        "[",
        "{",
        '{"a": ',
        '["a ',
        '"',
        "\\",
        "/*",
        "<think>",
        "[1] ",
        "'it's ",
        '[{"a": "b" ',
        '{"a": "x "y" ',
        '["a",b:',
        '[: "x" ',
        "<|channel|>final<|constrain|>",
        "{} <think>",
        '["\\ud83d',
    )
    for unit in units:
        text = (unit * (length // len(unit) + 1))[:length]
        began = time.process_time()
        with pytest.raises(BadAnswer):
            read_answer(text, Graph)
        assert time.process_time() - began < 12, unit  # measured .2 s and less; a quadratic step takes minutes


@pytest.mark.parametrize("depth", [900, 980, 990, 200_000])
def test_no_depth_is_too_much(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    for reply in (deep, deep[:-1], deep.replace('"', "'"), f"{deep} or {deep}", f"{deep} or {deep.replace('1', '2')}"):
        assert isinstance(answer_or_bad(reply, Anything), Anything | BadAnswer)


# ---- choices

YES_NO = ("Yes", "No")


@pytest.mark.parametrize(
    ("reply", "choices", "choice"),
    [
        ("Yes", YES_NO, "Yes"),
        ("yes.", YES_NO, "Yes"),
        (" **NO**\n", YES_NO, "No"),
        ("Y", YES_NO, "Yes"),
        ("n", YES_NO, "No"),
        ("```\nYES\n```", YES_NO, "Yes"),
        ("'N'", ("Y", "N"), "N"),
        ("<think>Yes? No?</think>No", YES_NO, "No"),
        ("Yes, there are more entities.", YES_NO, "Yes"),
        ('{"answer": "No"}', YES_NO, "No"),
        ("Answer: B", ("A", "B"), "B"),
        ("no", ("No", "None"), "No"),
        ("JA", ("ja", "nein"), "ja"),
        ("True", YES_NO, "Yes"),
        ("I would say: not supported.", ("supported", "not supported"), "not supported"),
        ("No, there are none.", YES_NO, "No"),
        ("<|channel|>analysis<|message|>No?<|end|><|channel|>final<|message|>Yes<|return|>", YES_NO, "Yes"),
    ],
)
def test_a_choice_is_read(reply: str, choices: tuple[str, ...], choice: str) -> None:
    assert read_choice(reply, choices) == choice


@pytest.mark.parametrize(
    ("reply", "choices"),
    [
        ("", YES_NO),
        ("Yes and no", YES_NO),
        ("Y/N", ("Y", "N")),
        ("Maybe", YES_NO),
        ("No-one knows", YES_NO),
        ("Now I see", ("Y", "N")),
        ("Your question is unclear", ("Y", "N")),
        ("N", ("No", "None")),
        ("<think>Yes", YES_NO),
        ("I cannot say.", YES_NO),
        ("?", YES_NO),
        ("yes " * 1_000, YES_NO),
        ("not yes", YES_NO),
        ("I would not say yes.", YES_NO),
        ("The answer isn't yes", YES_NO),
        ("The answer isn’t yes", YES_NO),
        ("NOT SUPPORTED", ("SUPPORTED", "REFUTED")),
        ("There is no doubt: it is true", YES_NO),
        ("There is no way it is true", ("true", "false")),
        ("No doubt", YES_NO),
        ("noon", YES_NO),
        ("notable", YES_NO),
        ("Nothing", ("Y", "N")),
        ("Yesterday", YES_NO),
        ("Yesterday", ("Y", "N")),
        ("unknown", ("known", "un")),
        ("n/a", ("Y", "N")),
        ("3.9", tuple("012345")),
        ("supported, or not supported", ("supported", "not supported")),
    ],
)
def test_a_reply_that_names_no_one_choice_is_refused(reply: str, choices: tuple[str, ...]) -> None:
    with pytest.raises(BadAnswer) as caught:
        read_choice(reply, choices)
    assert caught.value.raw == reply
