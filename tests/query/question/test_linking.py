import pytest
from conspectus.query.context import Context
from conspectus.query.question.linking import Links, open_linker
from conspectus.storage.records import Entity, Name
from conspectus.storage.text.nlp import CONCEPT


def named(context: Context, found: Links) -> set[str]:
    entities = context.index.rows(Entity)
    return {each.name for each in found.names} | {entities[row].name for row in found.entity_rows}


def test_every_name_is_found_where_it_stands(context: Context) -> None:
    linker = open_linker(context.index)
    for name in context.index.rows(Name):
        assert name in linker.link(f"Tell me about {name.name}, please.").names
    for row, entity in enumerate(context.index.rows(Entity)):
        found = linker.link(f"Tell me about {entity.name}, please.").entity_rows
        assert (row in found) == any(kind != CONCEPT for kind in entity.types)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who wrote The Oak House?", {"The Oak House"}),
        ("who is paul marlow", {"Paul Marlow"}),
        ("北京大学在哪里？", {"北京大学"}),
        ("Did Paul Marlow's novel win the Greenwell Award?", {"Paul Marlow", "Greenwell Award"}),
    ],
)
def test_names_in_any_script_and_case(question: str, names: set[str], context: Context) -> None:
    assert names <= named(context, open_linker(context.index).link(question))


def test_the_longest_name_of_its_kind_holds(context: Context) -> None:
    """Names that stand for chunks and entities are looked for apart."""
    linker = open_linker(context.index)
    entities = context.index.rows(Entity)
    found = linker.link("Who founded the University of Oxford?")
    assert [entities[row].name for row in found.entity_rows] == ["University of Oxford"]
    assert [each.name for each in found.names] == ["Oxford"]
    assert [each.name for each in linker.link("Who wrote The Oak House (novel)?").names] == ["The Oak House (novel)"]


def test_a_lone_name_wants_its_capital_where_the_question_has_capitals(context: Context) -> None:
    linker = open_linker(context.index)
    assert "Oxford" in named(context, linker.link("is oxford in england"))
    assert "Oxford" in named(context, linker.link("Is Oxford in England?"))
    assert "Oxford" not in named(context, linker.link("Is an oxford a shoe made in England?"))


@pytest.mark.parametrize("question", ["", "  \n", "?!…", "what is it", "من هو"])
def test_questions_that_name_nothing(question: str, context: Context) -> None:
    assert open_linker(context.index).link(question) == Links((), ())
    assert open_linker(context.index).without_titles(question) == question


def test_titles_can_be_left_out(context: Context) -> None:
    linker = open_linker(context.index)
    assert linker.without_titles("What did Paul Marlow write in Oxford?") == "What did  write in ?"


def test_names_are_found_where_they_stand(context: Context) -> None:
    text = "Did Paul Marlow write The Oak House in Oxford?"
    found = open_linker(context.index).mentions(text)
    assert [text[each.start : each.end] for each in found] == ["Paul Marlow", "The Oak House", "Oxford"]
    assert [each.is_title for each in found] == [True, True, True]
    assert "PERSON" in found[0].types
    assert open_linker(context.index).types_of("paul marlow") == found[0].types
    assert open_linker(context.index).types_of("nobody at all") == ()
