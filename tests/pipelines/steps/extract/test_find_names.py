"""The names to search for, against sets of keys."""

from collections import defaultdict

from conspectus.pipelines.steps.extract.find_names import known_names
from conspectus.storage.records import Document
from conspectus.storage.text.names import is_capitalised, is_worth_looking_for
from conspectus.storage.text.normalise import entity_key, title_names
from hypothesis import given
from hypothesis import strategies as st

_NAMES = st.sampled_from(
    ["Apollo (band)", "Apollo (god)", "Apollo", "apollo", "APOLLO (band)", "Oz", "C", " ", "A (b)"]
)


@given(st.lists(_NAMES, max_size=5), st.lists(_NAMES, max_size=5))
def test_a_name_stands_for_itself_and_for_titles_that_begin_with_it(titles: list[str], found: list[str]) -> None:
    exact: defaultdict[str, set[str]] = defaultdict(set)
    alias: defaultdict[str, set[str]] = defaultdict(set)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for title in filter(str.strip, titles):
        for name in title_names(title):
            (exact if name == title else alias)[entity_key(name)].add(entity_key(title))
            surfaces[entity_key(name)].add(name)
    for name in found:
        exact[entity_key(name)].add(entity_key(name))
        surfaces[entity_key(name)].add(name)

    documents = [Document(str(row), title, "", "", {}, 0, "") for row, title in enumerate(titles)]
    known = known_names(documents, found)
    worth = {key for key in surfaces if is_worth_looking_for(key)}
    assert known.keys() == worth
    for key, name in known.items():
        as_exact = [(own, "exact") for own in sorted(exact[key])]
        assert list(name.keys) == as_exact + [(title, "alias") for title in sorted(alias[key] - exact[key])]
        assert name.capitalised == is_capitalised(surfaces[key])
