"""Statements of several documents that belong together: a rule and what amends it, an older and a newer document about
the same, and what documents say of two persons or things of one name.

Nothing is retired silently: both are quoted, the later one first. A document has the date of its metadata, else the one
in its title, its name or its first lines.
"""

from collections.abc import Iterator, Sequence

import regex
from conspectus.query.answer_writing.asked import NUMBERED, Asked
from conspectus.query.answer_writing.excerpts import Part, as_words
from conspectus.query.answer_writing.features import STATEMENT_FEATURES
from conspectus.query.answer_writing.quotes import Quote
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.question.question import Question
from conspectus.query.question.terms import is_content_word
from conspectus.storage.records import Document
from conspectus.storage.text.dates import DATE, KEYS
from conspectus.storage.text.literals import parse_literal
from conspectus.storage.text.names import word_keys

_CHANGES = regex.compile(
    r"\b(?:replac\p{L}+|repeal\p{L}*|struck|delet\p{L}+|amend\p{L}+|insert\p{L}+|omit\p{L}+|substitut\p{L}+|supersed\p{L}+"
    r"|revok\p{L}+|becomes?|no longer|shall read"
    r"|for \p{Quotation_Mark}[^\p{Quotation_Mark}]+\p{Quotation_Mark},? (?:read|put)"
    r"|ersetz\p{L}+|aufgehoben|gestrichen|geändert|eingefügt|entfällt|entfallen|neu gefasst|remplac\p{L}+|abrog\p{L}+"
    r"|supprim\p{L}+|modifi\p{L}+|sustitu\p{L}+|derog\p{L}+|suprim\p{L}+|elimin\p{L}+|sostitui\p{L}+|soppress\p{L}+"
    r"|revog\p{L}+|vervang\p{L}+|vervalt|vervallen|geschrapt|gewijzigd|zastęp\p{L}+|uchyl\p{L}+|skreśl\p{L}+"
    r"|değiştiril\p{L}+|kaldırıl\p{L}+|замен\p{L}+|отмен\p{L}+|исключ\p{L}+)\b|改为|废止|删除|修改",
    regex.I,
)
"""Words of a statement that changes another one."""
_IN_FORCE = regex.compile(
    r"\b(?:(?:enter|come)s? into (?:force|effect)|takes? effect|(?:is|are) effective|in force"
    r"|tr(?:itt|eten)\b.{1,60}\bin kraft"
    r"|entr(?:e|ent|era) en (?:vigueur|vigor)|entra(?:rá|n)? en vigor|entra(?:no)? in vigore|entra(?:m)? em vigor"
    r"|tree?d(?:t|en)\b.{1,40}\bin werking|wchodzi w życie|yürürlüğe gir\p{L}+|вступа\p{L}+ в силу)\b|生效|施行",
    regex.I,
)
"""Words of a statement that says from when on something holds."""
_CLAUSE = regex.compile(
    r"(?:\b(?:sections?|clauses?|articles?|paragraphs?|rules?|items?|points?|art\.|abschnitt|ziffer|artikel|klausel|absatz"
    r"|punkt|regel|cláusula|artículo|apartado|regla|articolo|clausola|punto|artigo|bepaling|lid|paragraf|ustęp\p{L}*|madde"
    r"|пункт\p{L}*|стать\p{L}+)|§+|第)\s?(?P<number>\d+(?:\.\d+)*)",
    regex.I,
)
_OWN_NUMBER = regex.compile(r"(?P<number>\d+(?:\.\d+)+)\s")
_PART = (
    r"(?:absatz|abs\.|(?:sub)?paragraphs?|paras?\.?|subsection|alinéa|al\.|apartado|párrafo|comma|parágrafo|lid|ust\.?"
    r"|ustęp\p{L}*|fıkra|част\p{L}|ч\.)"
)
_ADDRESS = regex.compile(
    r"(?<![\w.])(?P<above>\d+(?:\.\d+)*)"
    rf"(?:\.(?P<item>\d+)|\s?\((?P<item>[a-z]|\d+)\)|,?\s{_PART}\s?\(?(?P<item>\d+)\)?)(?!\w|\.\d)"
    rf"|\b{_PART}\s?\(?(?P<item>\d+)\)?\s(?:of|von|des|der|de|del|du|di|da|do|van)\s"
    r"[\p{L}'’§. ]{0,30}?(?P<above>\d+)\b",
    regex.I,
)
_CODE = regex.compile(r"(?<![\w.])\d{3,5}(?![\w.]*\w)")
_CODED = regex.compile(r"[-*+ ]*(?:\p{L}+ ){0,2}(?P<code>\d{3,5}) ?[:|–—-]")
_MARK = regex.compile(r"\(?(\d+|[a-z])[.)]\s")
_HEAD = 300
"""Characters at the beginning of a document in which its date is looked for."""
_CLOSE = 2.0
"""The most by which the logit of a later statement is below that of the best one, unless it is asked what holds now."""


def with_versions(context: Context, asked: Asked, quotes: Sequence[Quote], chosen: list[Quote]) -> list[Quote]:
    """Return the chosen quotes after those that change the best ones, or say it later."""
    if not chosen:
        return chosen
    if asked.time and (then := _of_the_time(context, asked, quotes, chosen[0])):
        return [then, *(quote for quote in chosen if quote is not then)]
    changes = [
        quote
        for quote in quotes
        if quote not in chosen[:1]
        and _CHANGES.search(quote.text)
        and any(_clauses(each) & _cited(quote.text) and each is not quote for each in chosen)
    ]
    changes = changes[:2] + _since(quotes, changes[:1])
    later = changes or [quote for quote in quotes if _says_later(context, asked, quote, chosen[0])][:1]
    return [*later, *(quote for quote in chosen if quote not in later)]


def _of_the_time(context: Context, asked: Asked, quotes: Sequence[Quote], best: Quote) -> Quote | None:
    """Return what the latest document up to the time that is asked about says, if the best quote's is from later.

    None if the best quote says itself that it is about that time.
    """
    documents, last = documents_by_id(context), parse_literal((asked.time and asked.time.last) or "")
    until = last.high if last else None
    own = date_of(documents[best.span.document_id])
    inside = best.features[STATEMENT_FEATURES.index("in the time")]
    if until is None or own is None or own <= until or inside:
        return None
    rarest = max(best.held.told, key=lambda term: asked.rarity[term], default="")
    dated = [
        (day, quote.score, quote)
        for quote in quotes
        if quote.has_kind and rarest in quote.held.told
        and (day := date_of(documents[quote.span.document_id])) is not None and day <= until
    ]  # fmt: skip
    return max(dated, key=lambda each: each[:2])[2] if dated else None


def _since(quotes: Sequence[Quote], changes: Sequence[Quote]) -> list[Quote]:
    """Return the first statement that says from when on the document of a change is in force."""
    documents = {quote.span.document_id for quote in changes}
    return [quote for quote in quotes if quote.span.document_id in documents and _IN_FORCE.search(quote.text)][:1]


def _clauses(quote: Quote) -> set[str]:
    """Return the numbers of the clauses that a quote is in."""
    own = _OWN_NUMBER.match(quote.text)
    return {found["number"] for text in quote.excerpt.context for found in _CLAUSE.finditer(text)} | (
        {own["number"]} if own else set()
    )


def _cited(text: str) -> set[str]:
    return {found["number"] for found in _CLAUSE.finditer(text)}


def item_asked(asked: Asked, question: str, quotes: Sequence[Quote]) -> list[Quote]:
    """Return the item that a question asks for by the number of the heading above and its own (2.2, 6(a)), or a code.

    "What does a 409 mean?" asks for the line "Response 409: ...".
    """
    if asked.kind == "definition" and (codes := set(_CODE.findall(question))):
        coded = [quote for quote in quotes if (own := _CODED.match(quote.text)) and own["code"] in codes]
        if len({quote.span.document_id for quote in coded}) == 1:
            return coded
    address = _ADDRESS.search(question)
    if (
        address is None
        or asked.kind not in ("what", "definition", "other")
        or any(quote.text.startswith(address[0]) for quote in quotes)
    ):
        return []
    items = [
        quote
        for quote in quotes
        if (own := _MARK.match(quote.text))
        and own[1] == address["item"]
        and any(NUMBERED.findall(text)[:1] == [address["above"]] for text in quote.excerpt.context)
    ]
    return [max(items, key=lambda quote: quote.score)] if items else []


def lost_clause(question: str, quotes: Sequence[Quote]) -> str:
    """Return the number of a clause that a question asks for and no quote has, "" if there is none."""
    texts = (text for quote in quotes for text in (quote.text, *quote.excerpt.context))
    told = {number for text in texts for number in NUMBERED.findall(text)}
    return min(_cited(question) - told, default="")


def _says_later(context: Context, asked: Asked, quote: Quote, best: Quote) -> bool:
    """Return whether a later document answers as well as the best quote, with an answer of the same kind."""
    if quote.span.document_id == best.span.document_id:
        return False
    told, names = quote.held.told & best.held.told, best.held.told & asked.names
    rarest = max(best.held.told, key=lambda term: asked.rarity[term], default="")
    if quote.score < best.score - _CLOSE and not (asked.of_now and rarest in told):
        return False
    if not quote.has_kind or not told or not names <= told:
        return False
    documents = documents_by_id(context)
    own, other = (date_of(documents[each.span.document_id]) for each in (quote, best))
    return own is not None and other is not None and own > other


def date_of(document: Document) -> float | None:
    """Return the day of a document, counted from 1 January of the year 1; None if it names none."""
    stated = [document.metadata[key] for key in KEYS if key in document.metadata]
    for text in (*stated, document.title, document.uri.rpartition("/")[2], document.text[:_HEAD]):
        days = [value for found in DATE.finditer(text) if (value := parse_literal(found[0]))]
        if days:
            return max(value.day[0] if value.day else value.low for value in days)
    return None


_MOST_DEFINITIONS = 4
"""Documents whose statement of what a name is is quoted."""
_NAME = 2
"""The least words of a name that is told apart by what stands beside it."""
_OF = frozenset("of from von vom aus de du des del della di da van из".split())
_THE = frozenset("the der die das den dem le la el il los las o a de het".split())


def with_definition(asked: Asked, quotes: Sequence[Quote], chosen: list[Quote]) -> list[Quote]:
    """Return the chosen quotes after the best one that defines what is asked for, if it is not far worse."""
    defining = [quote for quote in quotes if quote.defines] if asked.of_what_it_is and chosen else []
    first = max(defining, key=lambda quote: quote.score, default=None)
    if first is None or chosen[0].defines or first.score < chosen[0].score - _CLOSE:
        return chosen
    return [first, *(quote for quote in chosen if quote.span != first.span)]


def definitions_of_others(asked: Asked, quotes: Sequence[Quote], chosen: list[Quote]) -> list[Quote]:
    """Return the chosen quotes and, if they say what a name is, what each other document says that it is.

    "Nadia Brook is a surgeon", says one document, "The head of operations is Nadia Brook" another: the name may be that
    of two persons. Where a document first has a full name, it says whose it is: "Tobias Renn builds violins."
    """
    if not (chosen and asked.of_what_it_is and asked.names):
        return chosen
    best: dict[str, Quote] = {}
    full = asked.kind == "who" and len(asked.names) > 1
    for quote in sorted(quotes, key=lambda quote: quote.span.start if full else -quote.score):
        if asked.names <= quote.covers and (quote.defines or full):
            best.setdefault(quote.span.document_id, quote)
    made = {quote.span: quote for quote in chosen}  # with what belongs to them
    own = chosen[0].span.document_id
    others = sorted(best.values(), key=lambda quote: (quote.span.document_id != own, -quote.score))
    first = [made.pop(quote.span, quote) for quote in others][:_MOST_DEFINITIONS]
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


_SUBJECT = regex.compile(r"\W*(?P<name>\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’.-]*)+)\s\p{Ll}")
_OBJECT = regex.compile(r"\b(?:him|them|it|her(?! \p{Ll}))\b")


def is_of_another(question: Question, asked: Asked, quotes: Sequence[Quote], best: Quote) -> bool:
    """Return whether the best quote is about another name than the one that is asked about.

    "Nadia Brook was born in Port Amity" does not say where Gus Tamm was born, unless a quote has both names.
    """
    names = [set(word_keys(question.text[each.start : each.end])) for each in question.mentions]
    found = _SUBJECT.match(best.text)
    if len(names) != 1 or len(names[0]) < _NAME or not asked.is_fact or not found or not asked.names:
        return False
    other = set(word_keys(found["name"]))
    if asked.names & best.covers or names[0] & set(word_keys(best.text)) or _OBJECT.search(best.text):
        return False
    return not any(names[0] & told and other & told for told in (set(word_keys(quote.text)) for quote in quotes))


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
