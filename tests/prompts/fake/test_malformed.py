import json

import pytest
from conspectus.prompts.fake import MALFORMED, FakeServer, Faults, MalformedKind
from conspectus.prompts.fake.malformed import KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.prompts.fake.conftest import Connect

VALUE = {
    "title": 'The "old" mill, it\'s here',
    "findings": [{"summary": "line one\nline two", "rating": 8.5, "open": True}, {"summary": "x y", "open": False}],
    "parent": None,
}
GOOD = json.dumps(VALUE)
STILL_JSON = {"escaped_string", "bare_list", "wrapped"}
"""Kinds that are JSON, but not the value asked for."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_there_is_one_function_for_every_kind() -> None:
    assert set(MALFORMED) == set(KINDS)
    assert len(KINDS) >= 15


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_spoils_json(kind: MalformedKind) -> None:
    spoilt = MALFORMED[kind](GOOD)
    if spoilt is None:
        assert kind == "null_content"
    elif kind in STILL_JSON:
        assert json.loads(spoilt) != VALUE
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(spoilt)


@settings(max_examples=40)
@given(JSON)
def test_every_kind_takes_any_json(value: object) -> None:
    text = json.dumps(value)
    for spoil in MALFORMED.values():
        assert isinstance(spoil(text), str | None)


@settings(max_examples=40)
@given(st.text())
def test_every_kind_takes_any_text(text: str) -> None:
    for spoil in MALFORMED.values():
        assert isinstance(spoil(text), str | None)


def test_kinds_are_faults_of_the_server_too(connect: Connect) -> None:
    with FakeServer(GOOD, faults=Faults(script=dict(enumerate(KINDS)))) as server:
        create = connect(server).chat.completions.create
        for kind in KINDS:
            reply = create(model="m", messages=[{"role": "user", "content": "x"}])
            assert reply.choices[0].message.content == MALFORMED[kind](GOOD)
    assert [each.fault for each in server.requests] == list(KINDS)
    assert server.measures.faults == dict.fromkeys(KINDS, 1)
