"""Questions for a section of a document: its abstract, its conclusion, its authors, what stands under a heading."""

from pathlib import Path

import conspectus
import pytest
from conspectus.api import Index

PAPER = """---
author: Ilse Brandt, Omar Kettani
---

# Lichens on slate roofs

## Abstract

We followed 44 slate roofs for six years. Lichens doubled the life of the slates.

## Methods

Roofs were photographed each April. The slates of the north side were weighed.

## Conclusion

Lichens should not be scraped off. Copper strips are of no use.

## Acknowledgements

We thank the parish of Lower Ebb. This work was funded by the Hollis Trust.

## What was not measured

- the wind of winter
- salt in the air
- the age of the nails
"""


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Index:
    place: Path = tmp_path_factory.mktemp("paper")
    (place / "lichens.md").write_text(PAPER, "utf-8")
    return conspectus.build(place / "lichens.md", place / "index")


@pytest.mark.parametrize(
    ("question", "wanted", "unwanted"),
    [
        ("What does the abstract say?", ["44 slate roofs", "doubled"], ["Copper", "parish"]),
        ("What is this paper about?", ["44 slate roofs", "doubled"], ["parish", "Kettani"]),
        ("What did the authors conclude?", ["not be scraped", "Copper strips"], ["44", "parish"]),
        ("Who wrote the paper?", ["Ilse Brandt", "Omar Kettani"], []),
        ("Who paid for the study?", ["Hollis Trust"], []),
        ("What was not measured?", ["wind", "salt", "nails"], ["Copper"]),
    ],
)
def test_a_section_answers_for_itself(question: str, wanted: list[str], unwanted: list[str], paper: Index) -> None:
    answer = paper.ask(question)
    assert [each for each in wanted if each not in answer.text] == []
    assert [each for each in unwanted if each in answer.text] == []
    assert answer.citations
