import datetime
import enum
import json
import re
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema
import pytest
from conspectus.prompts.fake import FakeServer
from conspectus.prompts.fake.chance import Dice
from conspectus.prompts.fake.instances import UnsupportedSchema, instance
from conspectus.prompts.fake.patterns import UnsupportedPattern, pattern_text
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, Field

from tests.prompts.fake.conftest import Connect


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Leaf(BaseModel):
    kind: Literal["leaf"]
    value: Annotated[int, Field(ge=3, le=5)]


class Node(BaseModel):
    kind: Literal["node"]
    left: "Tree"
    right: "Tree"


Tree = Annotated[Leaf | Node, Field(discriminator="kind")]


class Finding(BaseModel):
    summary: Annotated[str, Field(min_length=3, max_length=40)]
    rating: Annotated[float, Field(ge=0, le=10)]


class Report(BaseModel):
    title: str
    findings: Annotated[list[Finding], Field(min_length=2, max_length=9)]
    parent: "Report | None" = None
    children: list["Report"]


class Everything(BaseModel):
    report: Report
    tree: Tree
    colours: set[Colour]
    colour: Colour
    code: Annotated[str, Field(pattern=r"^[A-Z]{2,3}-\d+(\.\d)?(x|yy)$")]
    when: datetime.datetime
    day: datetime.date
    time: datetime.time
    length: datetime.timedelta
    id: UUID
    share: Annotated[float, Field(gt=0, lt=1)]
    sevens: Annotated[int, Field(multiple_of=7, gt=20)]
    halves: Annotated[float, Field(multiple_of=0.5)]
    large: Annotated[int, Field(ge=10**12)]
    below: Annotated[int, Field(lt=-5)]
    pair: tuple[int, str]
    counts: dict[str, int]
    maybe: list[float] | None
    long: Annotated[list[int], Field(min_length=7)]
    short: Annotated[list[int], Field(max_length=2)]
    nothing: Annotated[str, Field(max_length=0)]
    anything: Any
    flag: bool


Node.model_rebuild()
Report.model_rebuild()


@pytest.mark.parametrize("model", [Everything, Report, Node, Finding])
def test_instances_are_what_data_classes_read(model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    made = [instance(schema, Dice(i)) for i in range(12)]
    for each in made:
        validator.validate(each)
        model.model_validate_json(json.dumps(each))
    assert made[0] == instance(schema, Dice(0))
    assert len({json.dumps(each) for each in made}) == len(made)


def bounds(kind: str, numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just(kind)},
        optional={"minimum": numbers, "maximum": numbers, "exclusiveMinimum": numbers, "exclusiveMaximum": numbers},
    )


LEAVES = st.one_of(
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"const": 3}]),
    bounds("integer", st.integers(-50, 50)),
    bounds("number", st.floats(-50, 50, allow_nan=False)),
    st.builds(
        lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more}, *[st.integers(0, 30)] * 2
    ),
    st.lists(st.one_of(st.text(), st.integers()), min_size=1, unique=True).map(lambda values: {"enum": values}),
)


def compound(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def record(properties: dict[str, Any], required: int, closed: bool) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:required],
            **({"additionalProperties": False} if closed else {}),
        }

    return st.one_of(
        st.builds(record, st.dictionaries(st.text(max_size=4), inner, max_size=4), st.integers(0, 4), st.booleans()),
        st.builds(
            lambda items, low, more: {"type": "array", "items": items, "minItems": low, "maxItems": low + more},
            inner,
            st.integers(0, 5),
            st.integers(0, 3),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
        inner.map(lambda each: {"$defs": {"a/b": each}, "$ref": "#/$defs/a~1b"}),
    )


@settings(deadline=None, max_examples=150)
@given(st.recursive(LEAVES, compound, max_leaves=8), st.integers())
def test_an_instance_is_valid_or_there_is_none(schema: dict[str, Any], key: int) -> None:
    # References are resolved from the root, so only a schema at the root may hold definitions.
    if "#/$defs" in json.dumps(schema) and "$defs" not in schema:
        return
    if json.dumps(schema).count("$defs") > 2:
        return
    try:
        made = instance(schema, Dice(key))
    except UnsupportedSchema:
        return
    jsonschema.Draft202012Validator(schema).validate(made)


@settings(max_examples=60)
@given(st.integers())
def test_patterns_are_matched(key: int) -> None:
    for pattern in (
        "^[a-z]+$",
        r"^\d{4}-\d{2}$",
        r"(foo|ba[rz]){2,}",
        r"^[^\d\s]{3}\.\w?\W*$",
        r"^#[0-9A-Fa-f]{6}$",
        r"^(?:a|b|)c*?[-+]?$",
        r"^[]x]\S\D{2}$",
        "",
    ):
        assert re.search(pattern, pattern_text(pattern, Dice(key))), pattern


@pytest.mark.parametrize("pattern", [r"^(?=a)b", r"(a)\1", "(a", "[a", r"\bword", "(?!x)"])
def test_patterns_beyond_it_are_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPattern):
        pattern_text(pattern, Dice(0))


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#"},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"not": {"type": "string"}},
        {"anyOf": [{"$ref": "#"}]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True},
        False,
    ],
)
def test_schemas_without_an_instance_are_refused(schema: dict[str, object]) -> None:
    with pytest.raises(UnsupportedSchema):
        instance(schema, Dice(0))


def test_the_openai_package_parses_what_the_server_makes_up(connect: Connect) -> None:
    messages = [{"role": "user", "content": "Report on the harbour."}]
    with FakeServer() as server:
        parse = connect(server).chat.completions.parse
        first = parse(model="m", messages=messages, response_format=Report).choices[0].message.parsed  # type: ignore
        again = parse(model="m", messages=messages, response_format=Report).choices[0].message.parsed  # type: ignore
    assert isinstance(first, Report)
    assert first == again
    assert to_strict_json_schema(Report)["additionalProperties"] is False


def test_a_json_object_is_one(connect: Connect) -> None:
    messages = [{"role": "user", "content": "Answer in JSON."}]
    with FakeServer() as server:
        reply = connect(server).chat.completions.create(
            model="m",
            messages=messages,  # type: ignore
            response_format={"type": "json_object"},
        )
    assert isinstance(json.loads(reply.choices[0].message.content or ""), dict)
