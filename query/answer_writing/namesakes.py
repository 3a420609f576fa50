"""Two persons or things of one name: an answer says what each document says of it, or speaks of one of them only."""

from collections.abc import Iterator, Sequence

from conspectus.query.answer_writing.asked import Asked
from conspectus.query.answer_writing.excerpts import Part, as_words
from conspectus.query.answer_writing.quotes import Quote
from conspectus.query.context import Context
from conspectus.query.question.question import Question
from conspectus.query.question.terms import is_content_word

_MOST_DEFINITIONS = 4
"""Documents whose statement of what a name is is quoted."""
_NAME = 2
"""The least words of a name that is told apart by what stands beside it."""
_OF = frozenset("of from von vom aus de du des del della di da van из".split())
_THE = frozenset("the der die das den dem le la el il los las o a de het".split())


def definitions_of_others(asked: Asked, quotes: "Sequence[Quote]", chosen: "list[Quote]") -> "list[Quote]":
    """Return the chosen quotes and, if they say what a name is, what each other document says that it is.

    "Nadia Brook is a surgeon", says one document, "The head of operations is Nadia Brook" another: the name may be that
    of two persons.
    """
    if not (chosen and asked.of_what_it_is and asked.names):
        return chosen
    best: dict[str, Quote] = {}
    for quote in quotes:
        document = quote.span.document_id
        if (
            quote.defines
            and asked.names <= quote.covers
            and (document not in best or quote.score > best[document].score)
        ):
            best[document] = quote
    made = {quote.span: quote for quote in chosen}  # with what belongs to them
    first = [made.pop(quote.span, quote) for quote in best.values()][:_MOST_DEFINITIONS]
    return [*first, *made.values()] if len(first) > 1 else chosen


def of_the_one_meant(context: Context, question: Question, chosen: Sequence[Quote]) -> list[Quote]:
    """Return the chosen quotes without those about a namesake of what the question asks about.

    "Where was Nadia Brook, the surgeon, born?": one document names her and has a surgeon, the other only the name. What
    the other says is left out if it tells no word of the question that the first does not.
    """
    kept = list(chosen)
    for name, beside in _told_apart(question):
        fits = [quote for quote in kept if beside <= _stems(context, quote)]
        if any(name in as_words(quote.text) for quote in fits):
            documents = {quote.span.document_id for quote in fits}
            told = set[str]().union(*(_stems(context, quote, quote.excerpt.shown) for quote in fits))
            kept = [
                quote
                for quote in kept
                if quote.span.document_id in documents
                or not (name in as_words(quote.text) and quote.held.covers <= told)
            ]
    return kept


def _told_apart(question: Question) -> Iterator[tuple[str, set[str]]]:
    """Yield the names of a question, each as its words, with the stems of the words that tell which one is meant.

    They stand before it ("the surgeon Nadia Brook") or behind it ("Nadia Brook of the tramway", "Nadia Brook, the
    surgeon").
    """
    keys, language = [word.key for word in question.words], question.language
    for mention in question.mentions:
        own = [at for at, word in enumerate(question.words) if mention.start <= word.start < mention.end]
        if len(own) < _NAME:
            continue
        before, after = own[0] - 1, own[-1] + 1
        beside = {before} if before > 0 and keys[before - 1] in _THE else set()
        if keys[after : after + 1] and keys[after] in _OF | _THE:
            after += 1 + (keys[after + 1 : after + 2] != [] and keys[after + 1] in _THE)
            beside.add(after)
        stems = {question.stems[at] for at in beside if at < len(keys) and is_content_word(keys[at], language)}
        if stems:
            yield as_words(question.text[mention.start : mention.end]), stems


def _stems(context: Context, quote: Quote, parts: Sequence[Part] = ()) -> set[str]:
    """Return the stems of parts of a quote, or of its passage, as those of the question are made."""
    passage, stems_of = quote.excerpt.passage, context.bm25.analysis.stems
    texts = [part.text for part in parts] or [passage.title, passage.text]
    return {stem for text in texts for stem in stems_of(text, context.chunk_rows[passage.chunk_id])}
