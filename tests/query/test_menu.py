import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_method, find_retriever
from conspectus.storage.errors import NeedsModel, UnknownMethod, UsageError


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("pprr", "ppr"), ("bm-25", "bm25"), ("globl", "global"), ("global-c0", "global:c0")],
)  # fmt: skip
def test_an_unknown_name_is_answered_with_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(UnknownMethod, match=f"unknown method '{wrong}'; did you mean '{nearest}") as caught:
        find_method(wrong)
    assert isinstance(caught.value, UsageError)
    assert all(name in str(caught.value) for name in METHODS)


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
