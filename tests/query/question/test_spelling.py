"""Misspelled words of a question are read as words of the documents."""

import pytest
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.question.spelling import spelling_steps


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("which novle did he write", "which novel did he write"),
        ("who has writen it in Oxford?", "who has written it in Oxford?"),
        ("which novel did he write", "which novel did he write"),
        ("what does Pauul write?", "what does Pauul write?"),  # a name
        ("what about the giraffe?", "what about the giraffe?"),  # a word, though no document has it
        ("what is nov3l?", "what is nov3l?"),
        ("wich novel shoud I read", "which novel should I read"),  # words that any text may have
    ],
)
def test_what_is_read(question: str, read: str, sample_context: Context) -> None:
    asked = open_question(sample_context, question)
    assert asked.text == read
    assert bool(asked.mended) == (question != read) == bool(spelling_steps(asked.mended))
    assert all(asked.text[word.start : word.end].casefold() == word.key for word in asked.words)
