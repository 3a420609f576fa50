"""The parts of a passage that an answer can quote, each with the text needed to understand it.

An excerpt is a sentence, an item of a list, a row of a table or a block of code. It is shown with the text that it
depends on: the sentence that ends with a colon before a list or code, the code or list after such a sentence, the
label or defined term on the line above, the header above a row. Headings, captions, contents, links, mail signatures
and rhetorical questions are never excerpts; headings, labels and questions are the *context* of the text below
them, which says what the excerpt is about ("The lead is Jean-Luc Berger." under "Project Heron").

The structure is read from the text alone, as the readers write it: fenced code, `|` rows, list marks, blank lines.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import regex
from conspectus.query.context import Context
from conspectus.query.types import Passage
from conspectus.storage.index import per_index
from conspectus.storage.locators import HEADING, sections_at
from conspectus.storage.records import Document, Span
from conspectus.storage.text.dates import dates_in
from conspectus.storage.text.names import UNSPACED, word_keys
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.sentences import begins_anew, sentence_spans

LONGEST_BLOCK = 60
"""The most words of a list or code block that is shown with the sentence that introduces it."""
_LONGEST_LABEL = 9
"""A line with more words is prose, even without a full stop."""

_FENCE = re.compile(r"\s*(```|~~~)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪◦·]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+\S")
_MARKED_HEADING = re.compile(r"\s*#{1,6}\s")
_ENDS = regex.compile(r"[\p{Sentence_Break=STerm}.…:;：]['\"”’»)\]」』*_`]*$")
_STOPS = regex.compile(r"[\p{Sentence_Break=STerm}.…:]['\"”’»)\]」』*_`]*(?:\s|$)")
_QUESTION = re.compile(r"[?？؟]['\"”’»)\]」』*_]*$")
_INTRODUCES = re.compile(r"[:：][\"”*_]*$")
_NUMBER = re.compile(r"^(?:\w\.|\d[\d.]*+)++\s+")
_CAPTION_NUMBER = re.compile(r"(?:\w+\s)?(?:[A-Z]\.)?\d+(?:\.\d+)*\.$")
_CAPTION = re.compile(
    r"(?:fig(?:ure|ura|\.)|abb(?:ildung|\.)|tab(?:le|elle|leau|la|\.)|listing|ex[ae]mple|beispiel)\s\d", re.I
)
_RECORD = re.compile(r"[^:;\n]{1,40}: [^;\n]*(?:; [^:;\n]{1,40}: [^;\n]*)+$")
"""A row of a table as the readers write it: "name: Ada; post: gate"."""
_TASK = re.compile(r"(?:[-*+]|\d+\.)?\s?\[(?P<done>[ xX])\]\s")
_TASKS = "open task: to do, offene Aufgabe, tâche à faire, tarea pendiente", "task: done, erledigt, fait, hecho"
"""What a list item with a box says."""
_LINK = re.compile(r"(?:→|\[[^\]]*\]:?\(?)?\s*<?(?:https?|ftp)://\S+>?\)?[.,]?$")
_CONTENTS = re.compile(r"(?:\.\s?){4,}\s*\w{0,5}$")
_MAIL = re.compile(r"(?:>\s?)*(?:-- ?$|_{5,}|-{5,}|On .{6,90} wrote:$|.{6,90} (?:writes|schrieb.{0,40}|a écrit ?):$)")
_EVENT = re.compile(r"\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d(?:\s?[ap]\.?\s?m\.?)? - [^:]+$")
"""What a chat program says of the chat: who joined it, how it is encrypted."""
_QUOTED = re.compile(r"(?m)^[ \t]*(?:>[ \t]?)+")
_CODE_SIGNS = re.compile(r"[{}=;$<>\\|()\[\]/_+*&^~@#`]")
_CODE_SHARE = 0.08
_LINE = re.compile(r"[^\n]+")
_ORDER = regex.compile(
    r"""^(?:system|assistant|user|ai|ai\ agents?|llms?|chatgpt|claude|gemini|copilot|syst[eè]me?|sistema|система
     |ассистент|asistente|assistente|assistent|助手|系统|系統|アシスタント)\s?[:>：]
    |\b(?:wenn|falls)\ (?:jemand|man|dich|sie)\b[^.!?\n]{0,60}\bfragt\b[^.!?\n]{0,80}\b(?:antworte|sag)\w*\b
    |\bsi\ (?:on|quelqu['’]un)\b[^.!?\n]{0,40}\bdemande\b[^.!?\n]{0,80}\b(?:répond|di[ts])\w*\b
    |\b(?:si\ (?:alguien|te)|se\ (?:alguém|qualcuno)|a\ quem)\b[^.!?\n]{0,40}\b(?:pregunt|pergunt|chied)\w*\b
     [^.!?\n]{0,80}\b(?:respond|rispond|diz|diga|di)\w*\b
    |\bals\ iemand\b[^.!?\n]{0,40}\bvraagt\b[^.!?\n]{0,80}\b(?:antwoord|zeg)\b
    |\b(?:forget|ignore|disregard|override)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rules|above|previous|context)\b
    |\b(?:verg[ie]ss\w*|ignorier\w*|missacht\w*)\b[^.!?\n]{0,40}\b(?:anweisung\w*|vorgaben?|regeln|kontext)\b
    |\b(?:oublie\w*|ignore\w*)\b[^.!?\n]{0,40}\b(?:instructions|consignes|règles)\b
    |\b(?:olvid\w*|ignor\w*)\b[^.!?\n]{0,40}\b(?:instrucciones|reglas)\b
    |\b(?:if|when)\ (?:any(?:body|one)|some(?:body|one)|(?:an?|the)\ user)\ asks?\b[^.!?\n]{0,80}\b(?:say|answer)\b
    |\b(?:as\ an?\ (?:ai|assistant|llm|language\ model|chatbot)|als\ (?:ki|sprachmodell)
     |en\ tant\ qu['’](?:ia|assistant)|como\ (?:ia|asistente|modelo\ de\ lenguaje))\b[^.!?\n]{0,20}
     \b(?:you|must|du|sie|muss\w*|müss\w*|tu|vous|dois|devez|debes?|tienes)\b
    |\b(?:ai|llms?|chatbots?|language\ models?)(?:\ (?:assistants?|agents?|models?|systems?))?
     \ (?:must|should|shall|have\ to)\ (?:say|answer|tell|reply|respond)\b
    |\b(?:ki|chatbots?|sprachmodelle)(?:-\w+)?\ (?:müssen|sollen)\b[^.!?\n]{0,80}\b(?:sagen|antworten)\b
    |\b(?:in\ every\ answer|tell\ the\ user|never\ mention\ this|do\ not\ mention\ this)\b
    |\b(?:rules?|notes?|instructions?|orders?|messages?|attention|notice)\ (?:for|to)\ (?:all\ |any\ |the\ )*
     (?:ai|llms?|language\ models?|assistants?|chatbots?|bots?|agents?)\b
    |\b(?:für|an)\ (?:alle\ )?(?:ki|assistenten|sprachmodelle|chatbots)\b
    |\bpour\ (?:les\ |l['’])?(?:ia|assistants|modèles\ de\ langage)\b
    |\bpara\ (?:la\ |los\ |el\ )?(?:ia|asistentes?|modelos?\ de\ lenguaje)\b
    |<\|[^|<>\n]{1,30}\|>|\[{1,2}(?:system|inst|assistant)\]{1,2}|<{1,2}(?:sys|system|assistant)>{1,2}""",
    regex.I | regex.M | regex.X,
)
"""What is written for a language model, not for people: to ignore its instructions, to say something in its answers."""
MESSAGE = regex.compile(
    r"(?m)^[\u200e\[]*(?:(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{2,4}),? +\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\.?)?\]?"
    r"|\d\d:\d\d:\d\d)"
    r"(?: -)? (?P<sender>[^:\n]{1,60}): "
)
"""A message of a chat, or what is said in a recording: when and who, and then what."""
_MARKED = regex.compile(
    r"(?P<open>\[{1,2}|<{1,2})(?P<role>system|sys|inst|assistant)(?:\]|>){1,2}.{0,4000}?(?=(?P=open)/(?P=role)(?:\]|>){1,2})",
    regex.I | regex.S,
)
"""What stands between the marks of a role, as if a program had written it."""
_BLANK = re.compile(r"\n[ \t>]*\n")
_CLAUSE = regex.compile(r"\W*(?:\p{L}+\.?\s|§+\s?)\d+(?:\.\d+)*[.:)]?(?:\s[^\s.]+){0,5}[.:]\W*")
"""What stands before the text of a clause: "Rule 2. Lanes." """

QUOTED = ("sentence", "line", "item", "row", "record", "code")
"""The kinds of pieces that are quoted."""
ROWS = frozenset({"row", "record"})
"""The kinds of pieces that are rows of a table: each is independent of the others."""
_SHORT_ITEM = 2
_SHORT_LINE = 2
"""A line of so few words without a full stop that stands alone is a title."""
_LONGEST_TERM = 3
_LEAST_LETTERS = 2


class Part(NamedTuple):
    """A piece of a document that is shown: its span, its kind, and its text without the marks of quoted mail."""

    span: Span
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a passage that an answer can quote.

    Attributes:
        passage: The passage.
        rank: Its position among the passages, from 0.
        span: The characters of the document that form the excerpt itself.
        text: Its text with white space collapsed; lines are preserved in code and tables.
        shown: The quoted parts, in reading order: its introduction, the excerpt itself, and what it introduces.
        context: The headings, label and question above it, outermost first, and the sentence that introduces it.
        kind: sentence, line (without a full stop: of notes, a chat, a log), item, row, record (a row with the names of
            its columns) or code.
    """

    passage: Passage
    rank: int
    span: Span
    text: str
    shown: tuple[Part, ...]
    context: tuple[str, ...]
    kind: str


@dataclass(slots=True)
class _Piece:
    """A piece of a passage: `text[start:end]` of the passage.

    Pieces of the kinds heading, label, question and noise are not quoted; those of the kinds in `QUOTED` are.
    `block` is the number of the stretch between two blank lines.
    """

    start: int
    end: int
    kind: str
    text: str
    block: int


def excerpts(
    context: Context,
    passages: Sequence[Passage],
    *,
    orders: bool = False,
    questions: bool = False,
    dates: bool = False,
) -> list[Excerpt]:
    """Return the excerpts of passages, in the order of the passages and of reading; overlaps are used once.

    Paragraphs with orders to a language model are left out, unless `orders` are asked for, and so are `questions`, and
    headings, unless they have `dates` ("3.0.2 (2025-01-09)").
    """
    found: list[Excerpt] = []
    seen: set[tuple[str, int]] = set()
    for rank, passage in enumerate(passages):
        for excerpt in _excerpts(context, passage, rank, orders=orders, questions=questions, dates=dates):
            place = (passage.document_id, excerpt.span.start)
            if place not in seen:
                seen.add(place)
                found.append(excerpt)
    return found


def _excerpts(
    context: Context, passage: Passage, rank: int, *, orders: bool, questions: bool, dates: bool
) -> Iterator[Excerpt]:
    pieces = _pieces(context, passage)
    if not orders and _ORDER.search(passage.text):
        marked = [found.span() for found in _MARKED.finditer(passage.text)]
        pieces = [piece for piece in pieces if not any(start <= piece.start < end for start, end in marked)]
        told = {piece.block for piece in pieces if piece.kind not in ROWS and _ORDER.search(piece.text)}
        pieces = [piece for piece in pieces if piece.block not in told or piece.kind in ROWS]
    places = context.places_of(passage.document_id)
    label = asked = introduction = header = None
    headed = False
    for at, piece in enumerate(pieces):
        before = next((item for item in reversed(pieces[:at]) if item.kind != "noise"), None)
        if piece.kind not in ("item", "noise"):
            headed = piece.kind in ("heading", "label", "question")
        if piece.kind not in ("row", "noise"):
            header = None
        elif piece.kind == "row" and (before is None or before.kind != "row" or before.block != piece.block):
            header = piece
        headings = sections_at(places, passage.start + piece.start)
        if piece.kind == "heading" or _declares(piece, headings):
            label = asked = introduction = None
        elif piece.kind == "label":
            label, introduction = piece, None
        elif piece.kind == "question":
            asked, label, introduction = piece, None, None
        dated = dates and piece.kind == "heading" and dates_in(piece.text)
        if (piece.kind not in QUOTED and not (questions and piece is asked) and not dated) or piece is header:
            continue
        if piece.kind in ("sentence", "line") and introduction is not before:
            introduction = None
        if piece.kind == "line" and label is not None and label.block != piece.block:
            label = None
        declared = before if piece.kind == "sentence" and before and _declares(before, headings) else None
        companions = [item for item in (label, introduction, header, declared) if item is not None]
        above = [*headings, *_message_before(pieces, at), *([asked.text] if asked else [])]
        if piece.kind == "item" and (task := _TASK.match(piece.text)):
            above.append(_TASKS[task["done"] != " "])
        shown = [item for item in companions if item is not label or (label is before and label.text[-1] != ",")]
        behind: list[_Piece] = []
        if piece.kind in ("sentence", "item") and _INTRODUCES.search(piece.text):
            introduction = piece
            behind = _introduced(pieces[at + 1 :])
            if not behind:
                continue  # the passage does not contain what it introduces
        elif piece.kind == "item" and introduction is None and word_count(piece.text) <= _SHORT_ITEM and not headed:
            continue  # navigation, or a list without an introduction
        yield Excerpt(
            passage,
            rank,
            _span(passage, piece),
            piece.text,
            tuple(Part(_span(passage, item), item.kind, item.text) for item in (*shown, piece, *behind)),
            tuple(above) + tuple(item.text for item in companions),
            "line" if dated else piece.kind,
        )


def _message_before(pieces: Sequence[_Piece], at: int) -> list[str]:
    """Return the message before a message, if any: "no, the cable broke" is about the pump that it names."""
    before = next((item for item in reversed(pieces[:at]) if item.kind != "noise"), None)
    if before is None or before.kind == "question" or not all(map(MESSAGE.match, (before.text, pieces[at].text))):
        return []
    return [before.text]


def _declares(piece: _Piece, headings: Sequence[str]) -> bool:
    """Return whether a piece is the line of code that declares what the text below it describes."""
    return (
        piece.kind == "code"
        and bool(headings)
        and headings[-1].rpartition(" ")[2] in without_fences(piece.text).split("\n")[-1]
    )


def _introduced(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return the code, list, rows or sentence at the beginning of some pieces, up to `LONGEST_BLOCK` words."""
    taken: list[_Piece] = []
    count = 0
    for piece in pieces:
        if piece.kind not in QUOTED or (taken and (piece.kind != taken[0].kind or piece.kind == "sentence")):
            break
        count += word_count(piece.text)
        if taken and count > LONGEST_BLOCK:
            break
        taken.append(piece)
    return taken


def _span(passage: Passage, piece: _Piece) -> Span:
    return Span(passage.document_id, passage.chunk_id, passage.start + piece.start, passage.start + piece.end)


def _pieces(context: Context, passage: Passage) -> list[_Piece]:
    """Return the pieces of a passage, in order."""
    text = passage.text
    labels = _headings(context)
    places = context.places_of(passage.document_id)
    lengths = {place.start: len(place.label) for place in places if place.kind == HEADING}
    blanks = [found.start() for found in _BLANK.finditer(text)]
    prose = {bisect_right(blanks, found.start()) for found in _STOPS.finditer(text)}
    pieces: list[_Piece] = []
    for start, end, fenced in _spans(text):
        own = _QUOTED.sub("", text[start:end]).strip()
        flat = " ".join(own.split())
        line = text.rfind("\n", 0, start) + 1
        opens_line = not text[line:start].strip("> \t")
        indented = opens_line and text[line:start].endswith((" ", "\t"))
        kind = "code" if fenced else _kind(own, flat, opens_line)
        if not fenced and lengths.get(passage.start + line, 0) > start - line:
            kind = "heading"
        elif kind in ("label", "item", "sentence") and _is_entry(flat, labels):
            kind = "noise"  # an entry of a table of contents, or of navigation
        elif kind in ("label", "sentence") and opens_line and MESSAGE.match(flat):
            kind = "line"
        elif kind == "sentence" and opens_line and _CLAUSE.fullmatch(flat):
            kind = "label"
        block = bisect_right(blanks, start)
        piece = _Piece(start, end, kind, own if kind in ("row", "code") else flat, block)
        last = pieces[-1] if pieces else None
        if (
            last is not None
            and last.block == block
            and _continues(last, piece, opens_line and not indented, block in prose)
        ):
            last.end = end
            last.kind = piece.kind if last.kind == "label" else last.kind
            last.text = f"{last.text}{chr(10) if kind == 'code' else ' '}{piece.text}"
        elif flat:
            if last is not None and last.block == block and kind == "sentence" and _heads(last):
                last.kind = "label"
            pieces.append(piece)
    for at, piece in enumerate(pieces):
        if piece.kind == "label" and word_count(piece.text) > _SHORT_LINE and _stands_alone(pieces, at):
            piece.kind = "line"
    return pieces


@lru_cache(maxsize=1_000)  # the same titles are looked up for each quote that is chosen
def as_words(text: str) -> str:
    """Return the words of a text joined and surrounded by spaces, for substring search by whole words."""
    return f" {' '.join(word_keys(text))} "


def word_count(text: str) -> int:
    """Return the number of words of a text; two characters of a script without spaces count as a word.

    >>> word_count("The pier is old."), word_count("桟橋は古いです。")
    (4, 4)
    """
    unspaced = len(UNSPACED.findall(text))
    return len(UNSPACED.sub(" ", text).split()) - (unspaced > 0) + (unspaced + 1) // 2


def _stands_alone(pieces: Sequence[_Piece], at: int) -> bool:
    """Return whether a line without a full stop says something: it heads nothing in its block, or is a message."""
    piece, after = pieces[at], pieces[at + 1] if at + 1 < len(pieces) else None
    if _INTRODUCES.search(piece.text):
        return False
    below = after is not None and after.block == piece.block and after.kind != "noise"
    is_message = begins_anew(piece.text) and not _ITEM.match(piece.text)
    return after is None or not below or after.kind in ("label", "line", "question") or is_message


def _heads(piece: _Piece) -> bool:
    """Return whether a list item is the title of the text on the lines below it ("1. Maximum length")."""
    return piece.kind == "item" and not _ENDS.search(piece.text) and word_count(piece.text) <= _LONGEST_LABEL


def _is_entry(flat: str, labels: frozenset[str]) -> bool:
    """Return whether a line is the label of a heading, with or without a mark, number or word before it."""
    parts = entity_key(flat).split(" ")
    return any(" ".join(parts[first:]) in labels for first in range(min(3, len(parts))))


def _continues(last: _Piece, piece: _Piece, opens_line: bool, is_prose: bool) -> bool:
    """Return whether a piece is the next line of code, the next sentence of a short item, or the rest of a sentence.

    In a block without any full stop every line says something of its own. A message goes on until the next one.
    """
    if piece.kind == "code":
        return last.kind == "code" and not _FENCE.match(piece.text)
    if piece.kind not in ("sentence", "label") or last.kind not in ("sentence", "label", "item", "line"):
        return False
    if word_count(last.text) + word_count(piece.text) > LONGEST_BLOCK or (opens_line and begins_anew(piece.text)):
        return False
    if last.kind == "line":  # a message
        return True
    is_term = last.kind == "label" and word_count(last.text) <= _LONGEST_TERM  # a defined term, not cut prose
    is_rest = is_prose and not _ENDS.search(last.text) and piece.text[:1].islower() and not is_term
    is_rest = is_rest or last.text.endswith(",")
    return is_rest or (last.kind == "item" and piece.kind == "sentence" and not opens_line)


def _spans(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans of sentences and of fenced code, in order, and whether each is code.

    A passage can begin within code: its first fence then closes it, recognisable by the blank line after that fence.
    """
    fences: list[tuple[int, int]] = []
    opened: int | None = None
    for number, line in enumerate(found for found in _LINE.finditer(text) if _FENCE.match(found[0])):
        if opened is None and not (number == 0 and _closes(text, line.start(), line.end())):
            opened = line.start()
        else:
            fences.append((opened or 0, line.end()))
            opened = None
    if opened is not None:
        fences.append((opened, len(text)))
    until = 0
    for start, end in _numbered(text):
        while fences and fences[0][0] <= start:
            opening, until = fences.pop(0)
            if without_fences(text[opening:until]):
                yield opening, until, True
        if start >= until:
            yield start, end, False


def without_fences(code: str) -> str:
    """Return code without its fence lines.

    >>> without_fences("```\\nPRAGMA optimize;\\n```")
    'PRAGMA optimize;'
    """
    return "\n".join(line for line in code.split("\n") if not _FENCE.match(line)).strip("\n")


def _closes(text: str, start: int, end: int) -> bool:
    """Return whether the fence at [start, end) closes code: a blank line follows it, and none precedes it."""
    before, after = text[:start].rpartition("\n")[0].rpartition("\n")[2], text[end + 1 :].partition("\n")[0]
    return not after.strip() and bool(before.strip() or not text[:start].strip())


def _numbered(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences; the number of a heading or caption is not a separate sentence."""
    number: tuple[int, int] | None = None
    for start, end in sentence_spans(text):
        if number is not None:
            if "\n" not in text[number[1] : start]:
                start = number[0]
            else:
                yield number
            number = None
        if _CAPTION_NUMBER.match(text[start:end]):
            number = start, end
        else:
            yield start, end
    if number is not None:
        yield number


def _kind(own: str, flat: str, opens_line: bool) -> str:
    """Return the kind of a line or sentence, by its marks."""
    if (
        sum(sign.isalpha() for sign in flat) < (1 if _ITEM.match(own) else _LEAST_LETTERS)
        or _LINK.match(flat)
        or _CONTENTS.search(flat)
        or _MAIL.match(flat)
        or _EVENT.match(flat)
    ):
        return "noise"
    if opens_line and _MARKED_HEADING.match(own):
        return "heading"
    if opens_line and _ROW.match(own):
        return "row"
    if _QUESTION.search(flat):
        return "question"
    if opens_line and _RECORD.match(own):
        return "record"
    if opens_line and _ITEM.match(own):
        return "item"
    if not _ENDS.search(flat) and len(_CODE_SIGNS.findall(flat)) > _CODE_SHARE * len(flat):
        return "code"
    if opens_line and not _ENDS.search(flat) and (word_count(flat) <= _LONGEST_LABEL or _CAPTION.match(flat)):
        return "label"
    if opens_line and _INTRODUCES.search(flat) and word_count(flat) <= 3:
        return "label"
    return "sentence"


@per_index
def _headings(context: Context) -> frozenset[str]:
    """Return the keys of headings of several words."""
    found: set[str] = set()
    for part in context.index.arrow(Document, "places").column("places").chunks:
        places = part.flatten()  # pyarrow.compute takes longer to import than this takes for most corpora
        kinds, labels = (places.field(name).to_numpy(zero_copy_only=False) for name in ("kind", "label"))
        found.update(labels[kinds == HEADING])
    keys = map(entity_key, found)
    return frozenset(label for key in keys for label in (key, _NUMBER.sub("", key)) if " " in label)
