import asyncio

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_method, find_retriever
from conspectus.storage.errors import NeedsModel, UnknownMethod, UsageError


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("pprr", "ppr"), ("PPR", "ppr"), ("bm-25", "bm25"), ("Dense", "dense"), ("hybird", "hybrid"),
        ("globl", "global"), ("global:c4", "global:c"), ("global-c0", "global:c0"), ("auot", "auto"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_answered_with_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownMethod, match=f"unknown method '{wrong}'; did you mean '{nearest}") as caught:
        find_method(wrong)
    assert isinstance(caught.value, UsageError)
    assert all(name in str(caught.value) for name in METHODS)


@pytest.mark.parametrize("wrong", ["", " ", "北京", "x" * 1000])
def test_where_nothing_is_near_no_method_is_suggested(wrong: str) -> None:
    with pytest.raises(UnknownMethod, match="There are: auto, bm25") as caught:
        find_method(wrong)
    assert "did you mean" not in str(caught.value)


def test_methods_that_find_no_passages_say_so(context: Context) -> None:
    for name, method in METHODS.items():
        if not method.retrieves:
            with pytest.raises(UnknownMethod, match=f"'{name}' has no passages to retrieve"):
                find_retriever(name, context)
        elif not method.needs_model:
            assert find_retriever(name, context)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.needs_model])
def test_methods_without_a_stand_in_say_that_they_need_a_model(name: str, context: Context) -> None:
    with pytest.raises(NeedsModel, match=f"'{name}' takes a language model: set llm.model"):
        METHODS[name].answerer(context)
    if METHODS[name].retrieves:
        with pytest.raises(NeedsModel, match="set llm"):
            find_retriever(name, context)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.needs_model])
def test_every_method_answers_and_says_what_ran(name: str, sample_context: Context) -> None:
    answer = asyncio.run(METHODS[name].answerer(sample_context).answer("Who wrote the novel The Oak House?", print))
    assert answer.question == "Who wrote the novel The Oak House?"
    assert answer.text
    assert answer.trace
    assert answer.usage.seconds > 0
    assert answer.method.endswith(":offline")
    assert name == "auto" or answer.method == f"{name}:offline"
    assert METHODS[name].about
