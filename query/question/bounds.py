"""How much of a question is read. The bounds are constants, so that no question takes more work than a long one.

What lies beyond a bound is told in the trace (`bound_steps`).
"""

from conspectus.prompts.embedding.windows import MOST_OF_QUESTION
from conspectus.query.question.kinds import without_courtesy
from conspectus.query.types import Step
from conspectus.storage.text.names import words
from conspectus.storage.text.tokens import count_tokens

MOST_CHARACTERS = 8_000
"""Characters of a question. Three pages are more than anyone asks; a method that reads them all takes its time."""
MOST_WORDS = 250
"""Words in which names are looked for, and which are looked for in passages: every passage that is read is compared
with all of them. Half a page says what it is about."""
MOST_CLOSELY = 60
"""Words that are read as a query of the graph, whose spelling is corrected, and that are asked again with names of what
was found. Each is compared with all relations of the graph, all names near it and all words of its language, and each
path is scored by all of them. The longest questions that people wrote for graphs have some 40 words."""


def part_read(question: str) -> str:
    """Return the part of a question that is read: all of it but what only asks kindly, unless it is too long.

    >>> part_read("Who repaired the lamp, please?"), len(part_read("Who? " * 3_000))
    ('Who repaired the lamp?', 8000)
    """
    return without_courtesy(question[:MOST_CHARACTERS])


def first_words(text: str, most: int) -> str:
    """Return a text up to the end of a word.

    >>> first_words("Who repaired the lamp?", 2), first_words("Who repaired it?", 3)
    ('Who repaired', 'Who repaired it?')
    """
    found = words(text, most + 1)
    return text if len(found) <= most else text[: found[most - 1].end]


def bound_steps(question: str) -> tuple[Step, ...]:
    """Return the step that tells which part of a long question is read; none of a question that is read as a whole.

    >>> bound_steps("Who repaired the lamp?")
    ()
    >>> bound_steps("and " * 80)[0].detail
    'it has 80 words: the first 60 are corrected, read as a query of the graph, and asked again with names'
    """
    told = []
    if len(question) > MOST_CHARACTERS:
        told.append(f"it has {len(question):,} characters: the first {MOST_CHARACTERS:,} are read")
    read = part_read(question)
    if len(read) > MOST_OF_QUESTION and count_tokens(read) > MOST_OF_QUESTION:
        told.append(f"the encoder reads {MOST_OF_QUESTION} tokens of it, or one window")
    count = len(words(read))
    if count > MOST_CLOSELY:
        names = f"names are looked for in the first {MOST_WORDS}, and " if count > MOST_WORDS else ""
        told.append(
            f"it has {count:,} words: {names}the first {MOST_CLOSELY} are corrected, read as a query of the graph, and "
            f"asked again with names"
        )
    return (Step("question", "; ".join(told)),) if told else ()
