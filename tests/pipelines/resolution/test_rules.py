"""Which names are taken for one thing's, and which never are."""

from collections.abc import Sequence

import pytest

from tests.pipelines.resolution.marked import groups, merged

NASA = "National Aeronautics and Space Administration"

SAME: list[tuple[Sequence[str], set[str]]] = [
    (
        ["[Sherlock Holmes|PERSON] met [Mr. Holmes|PERSON]. [Holmes|PERSON] smiled. He knew [Sherlock|PERSON]."],
        {"Sherlock Holmes", "Mr. Holmes", "Holmes", "Sherlock"},
    ),
    ([f"The [{NASA}|ORG] ([NASA|ORG]) was founded in 1958.", "[NASA|ORG] flew."], {NASA, "NASA"}),
    (
        ["[Robert Zimmerman|PERSON] (born May 24, 1941), known professionally as [Bob Dylan|PERSON], sang."],
        {"Robert Zimmerman", "Bob Dylan"},
    ),
    (["[Peking University|ORG] (Chinese: [北京大学|NAME]) is old."], {"Peking University", "北京大学"}),
    (["[Renée Zellweger|PERSON] acted.", "[Renee Zellweger|PERSON] won."], {"Renee Zellweger", "Renée Zellweger"}),
    (["[J. K. Rowling|PERSON] wrote.", "[J.K. Rowling|PERSON] lives."], {"J. K. Rowling", "J.K. Rowling"}),
    (["[Spider-Man|NAME] climbs.", "[Spiderman|NAME] falls."], {"Spider-Man", "Spiderman"}),
    (["[Acme Tool Company|ORG] sells.", "[Acme Tool|ORG] buys."], {"Acme Tool Company", "Acme Tool"}),
    (
        ["[Sir Arthur Conan Doyle|PERSON] wrote.", "[Arthur Conan Doyle|PERSON] died."],
        {"Sir Arthur Conan Doyle", "Arthur Conan Doyle"},
    ),
    (["[World War II|EVENT] ended.", "The [Second World War|EVENT]."], {"Second World War", "World War II"}),
    (["[Robert Ashgrove|PERSON] came home. [Bob Ashgrove|PERSON] sat."], {"Robert Ashgrove", "Bob Ashgrove"}),
    (
        ["[Pyotr Tchaikovsky|PERSON] wrote.", "[Чайковский|PERSON] wrote. [Пётр Чайковский|PERSON] slept."],
        {"Pyotr Tchaikovsky", "Пётр Чайковский", "Чайковский"},
    ),
    (["[Doyle, Arthur|PERSON] wrote.", "[Arthur Doyle|PERSON] rode."], {"Doyle, Arthur", "Arthur Doyle"}),
    (["[Marrow, Vey|GPE] grows. [Marrow|GPE] is small."], {"Marrow", "Marrow, Vey"}),
    (["[Cliff Mills|PERSON] and [Anna Poe|PERSON] spoke. Then [Mills|PERSON] left."], {"Mills", "Cliff Mills"}),
    (["The [U.S.|GPE] voted.", "The [United States|GPE] signed."], {"U.S.", "United States"}),
    (["[Franz Müller|PERSON] was also [Franz Mueller|PERSON] there."], {"Franz Mueller", "Franz Müller"}),
    (["[Bill|PERSON] climbed. [O Bill|PERSON] came down. He was a lizard."], {"Bill", "O Bill"}),
    (["[Satō Takuma|PERSON] raced. [Takuma Sato|PERSON] won."], {"Satō Takuma", "Takuma Sato"}),
    (["[Иван Петров|NAME] и дом [Ивана Петрова|NAME]."], {"Иван Петров", "Ивана Петрова"}),
    (["[Анна Зуева|NAME] поёт. Голос [Анны Зуевой|NAME]."], {"Анна Зуева", "Анны Зуевой"}),
]

APART: list[Sequence[str]] = [
    ["[Apollo 11|NAME] landed.", "[Apollo 13|NAME] did not."],
    ["[Apollo|NAME] was a god. [Apollo 11|NAME] landed."],
    ["[Henry IV|PERSON] was the father of [Henry V|PERSON]."],
    ["[King Henry IV|PERSON] fought.", "[King Henry V|PERSON] fought."],
    ["[World War I|EVENT] ended.", "[World War II|EVENT] began."],
    ["[Second Bank|ORG] opened.", "[Third Bank|ORG] closed."],
    ["[Martin Luther King Jr.|PERSON] spoke.", "[Martin Luther King Sr.|PERSON] preached."],
    ["[Oscar Hammerstein II|PERSON] wrote.", "[Oscar Hammerstein|PERSON] built."],
    ["[Springfield, Illinois|GPE] is a city, as [Springfield, Massachusetts|GPE] is. [Springfield|GPE] grew."],
    ["[North Carolina|GPE] borders [South Carolina|GPE]."],
    ["[George H. W. Bush|PERSON] met [George W. Bush|PERSON]. [Bush|PERSON] won. [George Bush|PERSON] lost."],
    ["[Smith|PERSON] met [John Smith|PERSON] and [Mary Smith|PERSON]."],
    ["[Mrs. Ashgrove|PERSON] cooked. [Bob Ashgrove|PERSON] ate."],
    ["[Mr. Quist|PERSON] danced with [Mrs. Quist|PERSON]. [Quist|PERSON] stopped."],
    ["[University of Washington|ORG] is in Seattle.", "[Washington University|ORG] is in St. Louis."],
    ["[Apple Inc.|ORG] sells.", "[Apple Ltd.|ORG] sang."],
    ["[Henry Ford|PERSON] founded the [Ford Motor Company|ORG]. [Ford|ORG] makes cars."],
    ["[Jackie Chan|PERSON] and his son [Jaycee Chan|PERSON] acted."],
    ["[Anna Berg|PERSON] sat beside [Anne Berg|PERSON]."],
    ["[Paris|GPE] is in France.", "[Paris, Texas|GPE] is in Texas."],
    ["[Kannada|LANGUAGE] is spoken in [Canada|GPE] too."],
    ["[John Adams|PERSON] was the father of [John Quincy Adams|PERSON]."],
    ["[ki|NAME] is small. [Ki, Oh|NAME] is a table of two signs."],
    ["[OPEN GATE|NAME] opens it.", "[OPEN GATE AS|NAME] opens it under a name."],
    ["the [us|NAME] of it", "[US|GPE] law"],
    ["[C|NAME] is a language.", "[C++|NAME] is another."],
    ["[DOE|ORG] spoke. [Department of Energy|ORG] paid. [Dean of Engineering|ORG] left."],
    ["[Alexander Fleming|PERSON] found it.", "[Sandford Fleming|PERSON] did not.", "[Fleming|PERSON] rests."],
    ["[王明|NAME] met [王明明|NAME]."],
    ["[Анна Зуева|NAME] и [Инна Зуева|NAME]. [Иван Петров|NAME] и [Степан Петров|NAME]."],
    ["[Александр Петров|NAME] родился.", "[Александра Петрова|NAME] пела."],
]


@pytest.mark.parametrize(("texts", "expected"), SAME)
def test_names_of_one_thing_are_merged(texts: Sequence[str], expected: set[str]) -> None:
    assert groups(texts) == {frozenset(expected)}


@pytest.mark.parametrize("texts", APART)
def test_names_of_two_things_stay_apart(texts: Sequence[str]) -> None:
    assert merged(texts) == set()


def test_titles_of_two_documents_are_two_things() -> None:
    assert merged({"The Oak House": "[Mark|PERSON] wrote it.", "Oak House": "A band."}) == set()
    assert merged({"The Oak House": "The [Oak House|WORK] is by [Mark|PERSON]."}) == {("Oak House", "The Oak House")}


def test_a_film_is_not_its_novel() -> None:
    texts = {
        "Dracula (novel)": "[Dracula|WORK] is a novel.",
        "Dracula (film)": "[Dracula|WORK] is a film about [Count Dracula|PERSON].",
    }
    assert merged(texts) == set()
    assert merged({"Dracula (film)": "[Dracula|WORK] is a film from the novel [Dracula|WORK]."}) == set()


def test_a_text_may_say_whom_its_title_means() -> None:
    texts = {"David Winner (author)": "[David Winner|PERSON] is an author. [Winner|PERSON] lives in London."}
    assert groups(texts) == {frozenset({"David Winner", "Winner", "David Winner (author)"})}
    others = {**texts, "David Winner (player)": "[David Winner|PERSON] is a player."}
    assert merged(others) == set()


def test_a_title_is_what_its_text_calls_in_full() -> None:
    texts = {"Bob Starr": '[Robert A. "Bob" Starr|PERSON] was a wrestler. [Starr|PERSON] won.'}
    assert groups(texts) == {frozenset({'Robert A. "Bob" Starr', "Bob Starr", "Starr"})}


def test_a_chain_of_merges_never_joins_what_is_kept_apart() -> None:
    texts = [
        "[Rocky Marciano|PERSON], also known as [The Rock|PERSON], won.",
        "[The Rock|PERSON], also known as [Dwayne Johnson|PERSON], acts.",
        "[Rocky 2|WORK] and [Rocky 3|WORK], also known as [Rocky|WORK].",
    ]
    for alias, kept in merged(texts):
        assert {alias, kept} != {"Rocky 2", "Rocky 3"}
        assert {alias, kept} != {"Rocky", "Rocky 3"}


def test_the_kept_name_is_the_most_frequent_that_is_no_short_form() -> None:
    texts = ["[Sherlock Holmes|PERSON] woke. " + "[Holmes|PERSON] ate. " * 5]
    assert merged(texts) == {("Holmes", "Sherlock Holmes")}
