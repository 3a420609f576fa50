"""Extractive reading without a language model: an answer quotes and cites excerpts of the passages.

Nothing is invented: the answer consists of the documents' own sentences, list items, table rows and code, or says that
it does not know. From top to bottom: the excerpts of the passages (`excerpts`) are ranked by the probability that they
answer the question (`ranker`), those that together answer it are chosen within a word limit, the text needed to
understand them is added, the best are extended by the next sentence, and everything is shown, each with its citation.
"""

def _labelled(excerpt: Excerpt) -> str:
    """Return the text of an excerpt, preceded by its label."""
    label = excerpt.context[-1] if excerpt.context else excerpt.passage.title
    return f"{label}: {excerpt.text}" if label else excerpt.text


def _keys(text: str) -> frozenset[str]:
    return frozenset(word.key for word in words(text))


def choose(question: str, quotes: Sequence[Quote], count: int) -> list[Quote]:
    """Choose up to `count` quotes, best first.

    If a question asks for several things, the best quote for each comes first. Any other is chosen if it is probable
    enough beside the best one; a passage about something that a chosen quote names and the question does not gets a
    bonus for the second hop. A quote that repeats a chosen one is left out, as is one that would make the answer longer
    than `_MOST_WORDS`.
    """
    chosen: list[Quote] = []
    for part in range(len(parts_of(question)) if len(parts_of(question)) > 1 else 0):
        best = max(quotes, key=lambda quote: quote.by_part[part], default=None)
        if best is not None and not any(best is quote or _repeats(best, quote) for quote in chosen):
            chosen.append(best)
    left = [quote for quote in quotes if quote not in chosen]
    worth = reader_weights().worth * probability(max((quote.score for quote in quotes), default=0.0))
    length = sum(map(_length, chosen))
    while left and len(chosen) < count:
        named = " ".join(_as_words(quote.text) for quote in chosen)
        gain = {id(quote): quote.score + _BRIDGE * _is_bridge(quote, named, _as_words(question)) for quote in left}
        best = min(left, key=lambda quote: (-gain[id(quote)], quote.span.document_id, quote.span.start))
        if chosen and probability(gain[id(best)]) < worth:
            break
        left.remove(best)
        words_more = _length(best)
        if chosen and (length + words_more > _MOST_WORDS or any(_repeats(best, quote) for quote in chosen)):
            continue
        chosen.append(best)
        length += words_more
    return _with_next(chosen, 1 if kind_of(question) in _FACTS else _WITH_NEXT)


def _with_next(chosen: Sequence[Quote], most: int) -> list[Quote]:
    """Return the quotes, best first, within `_MOST_WORDS`; the first `most` include their surroundings."""
    taken: list[Quote] = []
    length = 0
    for place, quote in enumerate(chosen):
        if taken and length + _length(quote) > _MOST_WORDS:
            continue
        if place < most:
            parts = [part for excerpt in quote.opening for part in excerpt.shown]
            parts += [*quote.excerpt.shown, *(quote.behind.shown if quote.behind else ())]
            longer = replace(quote, excerpt=replace(quote.excerpt, shown=tuple(parts)))
            quote = longer if length + _length(longer) <= _MOST_WORDS else quote
        taken.append(quote)
        length += _length(quote)
    return taken


def _is_bridge(quote: Quote, named: str, question: str) -> bool:
    names = [_as_words(name) for name in title_names(quote.excerpt.passage.title)]
    return any(name.strip() and name in named and name not in question for name in names)


@lru_cache(maxsize=1_000)  # the same titles are looked up for each quote that is chosen
def _as_words(text: str) -> str:
    """Return the words of a text joined and surrounded by spaces, for substring search by whole words."""
    return f" {' '.join(word.key for word in words(text))} "


def _length(quote: Quote) -> int:
    """Return the number of words that a quote shows, without code."""
    return sum(word_count(part.text) for part in quote.excerpt.shown if part.kind != "code")


def _repeats(quote: Quote, other: Quote) -> bool:
    """Return whether a quote adds few words to another."""
    own, theirs = _keys(quote.text), _keys(other.text)
    return len(own & theirs) > _REPEATS * min(len(own), len(theirs))


def shown(citations: Citations, chosen: Sequence[Quote]) -> Iterator[str]:
    """Yield the lines of an answer: the chosen quotes with the text that belongs to them, with citations.

    The best quote comes first, unless it is a step of a procedure, then documents in the order of their best quote, in
    reading order. Text shared by several quotes, such as the introduction of a list, is shown once. Adjoining parts
    share one citation.
    """
    order = {quote.span.document_id: place for place, quote in reversed(list(enumerate(chosen)))}
    told: list[Span] = []
    first = chosen[0] if chosen and not any(quote.opening for quote in chosen) else None

    def place(quote: Quote) -> tuple[bool, int, int, int]:
        return quote is not first, order[quote.span.document_id], _beginning(quote), quote.span.start

    for quote in sorted(chosen, key=place):
        passage = quote.excerpt.passage
        run: list[Part] = []
        for part in quote.excerpt.shown:
            if any(
                earlier.start <= part.span.start and part.span.end <= earlier.end
                for earlier in told
                if earlier.document_id == part.span.document_id
            ):
                continue
            told.append(part.span)
            if run and passage.text[run[-1].span.end - passage.start : part.span.start - passage.start].strip("> \t\n"):
                yield from _cited(citations, run)
                run = []
            run.append(part)
        yield from _cited(citations, run)


def _beginning(quote: Quote) -> int:
    return min(part.span.start for part in quote.excerpt.shown)


def _cited(citations: Citations, run: Sequence[Part]) -> Iterator[str]:
    """Yield the lines of adjoining parts with one citation, which is in the first line; sentences share a line."""
    if not run:
        return
    first, rest = run[0], run[1:]
    text = _presented(first)
    if first.kind == "label" and rest and rest[0].kind == "sentence":
        text = f"{first.text.rstrip(':')}: {rest[0].text}"
        rest = rest[1:]
    while first.kind in ("sentence", "label", "item") and rest and rest[0].kind == "sentence":
        text = f"{text} {rest[0].text}"
        rest = rest[1:]
    opening, _, more = text.partition("\n")
    if first.kind == "code":
        opening, more = text, ""
    whole = Span(first.span.document_id, first.span.chunk_id, first.span.start, run[-1].span.end)
    line = citations.cite(opening, whole)
    if line is not None:
        yield "\n".join([line, *([more] if more else []), *(_presented(part) for part in rest)])


def _presented(part: Part) -> str:
    if part.kind == "code":
        code = without_fences(part.text)
        return f"```\n{code}\n```" if "\n" in part.text else f"    {code}"
    return part.text
