"""The section that a question asks for: the abstract, what the authors conclude, or what stands under a heading."""

from collections.abc import Sequence

from conspectus.query.answer_writing.asked import Asked
from conspectus.query.answer_writing.quotes import Quote
from conspectus.query.context import Context
from conspectus.query.question.measures import Measure, measure_of
from conspectus.query.question.question import open_question
from conspectus.query.question.terms import is_content_word
from conspectus.storage.locators import sections_at
from conspectus.storage.text.names import word_keys

_SECTIONS = frozenset({"abstract", "conclusion"})
"""The measures of `measures.txt` whose words are headings."""
FEW_DOCUMENTS = 3
"""The most documents of which "the abstract" or "the authors" are not a choice among many."""
_WHOLE = frozenset({"what", "how to", "why", "other"})
"""Kinds of questions that a whole section answers if its heading has the words of the question and no other."""
_MOST_OF_IT = 0.6
"""The least share of a question's words, by rarity, that the heading of a list has which answers it."""


def section_of(question: str) -> Measure | None:
    """Return the words of headings under which the answer stands, the usual one first, if the question asks for them.

    >>> section_of("What did the authors conclude?").words[0]
    'conclusion'
    """
    measure = measure_of(question)
    return measure if measure is not None and measure.name in _SECTIONS else None


def quotes_of_section(context: Context, asked: Asked, question: str, quotes: Sequence[Quote]) -> list[Quote]:
    """Return the quotes of the section that a question asks for, in reading order; none if there is no such section.

    Args:
        context: The open index.
        asked: The question.
        question: Its text.
        quotes: The statements of the passages found for it.
    """
    of_what = measure_of(question)
    if of_what and of_what.name == "author" and context.index.manifest.rows["documents"] <= FEW_DOCUMENTS:
        fields = [quote for quote in quotes if _is_field(of_what, quote.text)]
        if len({quote.span.document_id for quote in fields}) == 1:
            return fields
    quotes = quotes if (measure := section_of(question)) or asked.kind in _WHOLE else ()
    headings = [_heading(context, quote) for quote in quotes]
    if measure is not None:
        keys = list(map(word_keys, headings))
        wanted = next((word for word in measure.words if any(word in own for own in keys)), None)
        found = [quote for quote, own in zip(quotes, keys, strict=True) if wanted in own]
    else:
        found = [
            quote
            for quote, heading in zip(quotes, headings, strict=True)
            if heading and _is_asked(asked, _content(context, quote, heading, question), is_list=bool(quote.whole))
        ]
    return sorted(found, key=lambda quote: (quote.excerpt.rank, quote.span.document_id, quote.span.start))


def _is_field(measure: Measure, text: str) -> bool:
    """Return whether a text is the field that is asked for: "Authors: ..." for "Who wrote this paper?"."""
    label, _, value = text.partition(":")
    return bool(value.strip() and label.strip()) and set(measure.words).issuperset(word_keys(label))


def _is_asked(asked: Asked, content: frozenset[str], *, is_list: bool) -> bool:
    """Return whether a question asks for what a heading says: all of it, or most of it if a list follows."""
    share = sum(asked.weights[term] for term in content) if content <= asked.weights.keys() else 0.0
    return content == asked.weights.keys() or (is_list and len(content) > 1 and share >= _MOST_OF_IT)


def _heading(context: Context, quote: Quote) -> str:
    """Return the heading above a quote, "" if this is the title of the document."""
    above = sections_at(context.places_of(quote.span.document_id), quote.span.start)
    return above[-1] if above and above[-1] != quote.excerpt.passage.title else ""


def _content(context: Context, quote: Quote, heading: str, question: str) -> frozenset[str]:
    language, row = open_question(context, question).language, context.chunk_rows[quote.excerpt.passage.chunk_id]
    content = (key for key in word_keys(heading) if is_content_word(key, language))
    return frozenset(context.bm25.analysis.terms(" ".join(content), row))
