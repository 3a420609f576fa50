"""Questions of two steps: what a description in a question names, and the question with that name in its place.

"Who taught the designer of the Ridge to sew?": a statement says that the Ridge was designed by Mael Corrigan, so it
remains to ask who taught Mael Corrigan to sew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conspectus.query.answer_writing.quotes import Quote
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.question.terms import is_content_word
from conspectus.storage.text.names import word_keys

_STATEMENTS, _NAMES = 3, 2
"""Number of best statements that may explain a description, and of the names in each that are tried."""


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A statement that says what a description names, it, the question with the name, and the name's stems there."""

    quote: Quote
    described: str
    question: str
    name: frozenset[str]


def first_steps(context: Context, question: str, quotes: Sequence[Quote]) -> Iterator[FirstStep]:
    """Yield the first steps of a question, the most probable statement first.

    A statement explains a description if all words of the question that it tells stand together, with a name among
    them and another content word of the question outside, and if it names something that the question does not.

    Args:
        context: The open index.
        question: The question.
        quotes: The quotes that were found for it.
    """
    asked = open_question(context, question)
    content = {at for at, word in enumerate(asked.words) if is_content_word(word.key, asked.language)}
    named = {
        at for at, word in enumerate(asked.words) for each in asked.mentions if each.start <= word.start < each.end
    }
    for quote in sorted(quotes, key=lambda each: -each.score)[:_STATEMENTS]:
        told = [at for at in content if asked.stems[at] in quote.held.told]
        if not told:
            continue
        first, last = min(told), max(told)
        between = content.intersection(range(first, last)).difference(told)
        if len(told) < 2 or len(told) == len(content) or between or not named.intersection(told):
            continue
        if first and first - 1 not in content and first - 1 not in named:
            first -= 1  # "the", which a name does not have
        start, end = asked.words[first].start, asked.words[last].end
        others = [
            name
            for each in open_question(context, quote.text).mentions
            if not {*word_keys(name := quote.text[each.start : each.end])} <= {word.key for word in asked.words}
        ]
        for name in list(dict.fromkeys(others))[:_NAMES]:
            further, keys = f"{question[:start]}{name}{question[end:]}", word_keys(name)
            read = open_question(context, further)
            stems = frozenset(stem for word, stem in zip(read.words, read.stems, strict=True) if word.key in keys)
            yield FirstStep(quote, question[start:end], further, stems)
