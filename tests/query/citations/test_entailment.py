"""What *supports* means: names, numbers and meaning."""

import pytest
from conspectus.query.citations.entailment import CitedText, closeness, missing, quotes

JAWS = CitedText(
    "Jaws is a 1975 film that Steven Spielberg directed; it cost 9,000,000 dollars, with two sequels.", "Jaws"
)


@pytest.mark.parametrize(
    ("sentence", "lost"),
    [
        ("Steven Spielberg directed Jaws in 1975.", ()),
        ("George Lucas directed Jaws.", ("George Lucas",)),
        ("Jaws is from 1977.", ("1977",)),
        ("It has 2 sequels.", ()),
        ("It has 3 sequels.", ("3",)),
        ("Stéven Spielberg made the first of the 2 sequels.", ()),
        ("Although Jaws was loved, the film had a rival in Star Wars of 1977.", ("Star Wars", "1977")),
        ("", ()),
    ],
)
def test_names_and_numbers_stand_in_the_source(sentence: str, lost: tuple[str, ...]) -> None:
    assert missing(sentence, [JAWS]) == lost


def test_names_of_scripts_without_capitals() -> None:
    source = CitedText("《红楼梦》的作者是曹雪芹。", "红楼梦")
    assert missing("作者是“曹雪芹”", [source]) == ()
    assert missing("作者是“鲁迅”", [source]) == ("鲁迅",)


def test_a_quotation_needs_no_more() -> None:
    assert quotes("Steven Spielberg directed", [JAWS])
    assert quotes("steven\nspielberg,  directed;", [JAWS])
    assert not quotes("Spielberg Steven directed", [JAWS])
    assert not quotes("pielberg directed", [JAWS])


def test_what_means_the_same_is_nearer_than_what_is_about_the_same() -> None:
    near = closeness("Spielberg made the film Jaws in 1975.", [JAWS])
    far = closeness("Sequels seldom earn what the first film did.", [JAWS])
    assert near > 0.6 > far
    assert closeness("9,000,000.", [JAWS], "What did the film Jaws cost in dollars?") > closeness("9,000,000.", [JAWS])
