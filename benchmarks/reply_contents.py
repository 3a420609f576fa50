"""Reference reading of recorded model replies, independent of the project's own parsers.

Each function gets a row of a collection of replies and returns its content, or raises a `NoContent` that says
why nothing is usable. It uses plain regular expressions and `json`, loosely on purpose: a parser is
right if it finds the same.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


class NoContent(Exception):
    """A reply contains nothing usable."""


@dataclass(frozen=True, slots=True)
class CitedText:
    """The lines of an answer without its reference list: the words of each, and the numbers that it cites."""

    words: tuple[str, ...]
    numbers: tuple[int, ...]


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without punctuation."""
    return tuple(re.findall(r"[^\W_]+", text.casefold()))


_BRACKETS = re.compile(
    r"[\[【]{1,2}([^\[\]【】\n]{1,200})[\]】]{1,2}(?:\((?:https?:[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\))?"
)
_CITED = re.compile(
    r"[\^#\s]*(?:(?:passages?|sources?|documents?|references?|notes?|data)[\s:#]*)?"
    r"(\d{1,3}(?:\s*(?:[-–—,;、&]|and)\s*\d{1,3})*)[\s]*(?:†.*)?",
    re.IGNORECASE,
)
_RECORDS = re.compile(r"\s*data\s*:.*?\(.*", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LISTED = re.compile(r"[\s>*-]*(?:\[\^?\d{1,3}\]|\[(?:KG|DC)\]|\d{1,3}\.(?=.*(?:https?:|\[(?:KG|DC)\])))")
_LIST_HEAD = re.compile(
    r"[\s#*_>\d一二三四五六七八九十.、]*(?:(?:\w+\s)?(?:references?|sources?|citations?|bibliography)|"
    r"[^\W\d]{0,3}(?:参考|引用)?(?:文献|资料|来源|链接|出处)(?:[与和及][^\W\d]{1,8})?)[\s:：*_]*",
    re.IGNORECASE,
)


def cited_text(row: Row) -> CitedText:
    """Return the words of an answer and the numbers that it cites in order; the list of its sources is left out."""
    body = without_brackets_in_code(_body(row["reply"]))
    numbers: list[int] = []

    def read(mark: re.Match[str]) -> str:
        inside = mark[1]
        if _RECORDS.fullmatch(inside):
            numbers.extend(
                int(number) for group in re.findall(r"\(([^)]*)", inside) for number in re.findall(r"\d+", group)
            )
            return " "
        cited = _CITED.fullmatch(inside)
        if not cited or 0 in map(int, re.findall(r"\d+", cited[1])):
            return mark[0]
        for part in re.split(r"[,;、&]|and", cited[1]):
            ends = [int(number) for number in re.findall(r"\d+", part)]
            numbers.extend(range(ends[0], ends[-1] + 1))
        return " "

    told = _BRACKETS.sub(read, body)
    if not words(told):
        raise NoContent("no text")
    return CitedText(words(told), tuple(numbers))


def without_brackets_in_code(text: str) -> str:
    """Return a text with brackets inside code blanked out: they cite nothing."""
    return _CODE.sub(lambda code: re.sub(r"[\[\]【】]", " ", code[0]), text)


def _body(reply: str) -> str:
    """Return an answer without the list of sources at its end: from the first heading followed only by entries."""
    lines = reply.rstrip().split("\n")
    for place, line in enumerate(lines):
        behind = [line for line in lines[place + 1 :] if line.strip() and not _LIST_HEAD.fullmatch(line)]
        entries = [line for line in behind if _LISTED.match(line) or re.match(r"\s*\d+\. ", line)]
        if place and _LIST_HEAD.fullmatch(line) and behind and len(entries) > len(behind) / 2:
            rest = [line for line in behind[-2:] if behind[-2:] and not re.match(r"\W*(?:\[|\d+\.|-|$)", line)]
            return "\n".join([*lines[:place], *rest])
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """A verdict, the answer in braces ("" without one), and whether the reply contains the reference answer."""

    yes: bool
    braced: str
    gold: str = ""


def yes_or_no(row: Row) -> YesOrNo:
    """Return the verdict of a reply that should begin with {Yes} or {No}."""
    text = row["reply"].strip()
    told = re.match(r"\W*(?:a|answer|reply)?\W*(yes|no)\b", text, re.IGNORECASE)
    braced = re.search(r"\{\s*(yes|no)\b", text, re.IGNORECASE)
    named = re.search(r"\"answer\"\s*:\s*\"(yes|no)", text, re.IGNORECASE)
    found = told or named or braced
    if not found:
        if re.search(r"on the right track|great job|let's break down|^\W*(?:you|let)\b", text[:200], re.IGNORECASE):
            raise NoContent("advice instead of a verdict")
        lacks = re.search(r"not sufficient|insufficient|do(?:es)? not (?:contain|provide|mention)|not possible|needed|"
                          r"not (?:provided|specified|mentioned)|no information", text)  # fmt: skip
        return YesOrNo(not lacks, _last_braced(text), _gold_in(row))
    return YesOrNo(found[1].casefold() == "yes", _last_braced(text), _gold_in(row))


def _last_braced(text: str) -> str:
    parts = [part.strip().strip('"') for part in re.findall(r"\{([^{}]*)\}", text)]
    return next((part for part in reversed(parts) if part and part.casefold() not in ("yes", "no", "answer")
                 and '":' not in part), "")  # fmt: skip


def _gold_in(row: Row) -> str:
    """Return the reference answer if the reply names it and the question does not."""
    golds = row.get("gold") or ""
    gold = golds[0] if isinstance(golds, list) and golds else str(golds)
    wanted = words(gold)
    asked = (row.get("prompt") or "")[-400:]
    return gold if wanted and _holds(row["reply"], gold) and not _holds(asked, gold) else ""


def _holds(text: str, wanted: str) -> bool:
    return f" {' '.join(words(wanted))} " in f" {' '.join(words(text))} "


def scores(row: Row) -> dict[str, float]:
    """Return the score of each relation or entity in a reply; the first if there are several."""
    text = row["reply"].replace("*", "").replace("`", "")
    found: dict[str, float] = {}
    for names, values in re.findall(r"([\w.;, ]+)\(Score:\s*(\d?\.\d+(?:;\s*\d?\.\d+)+)\)", text):
        found |= zip(re.split(r"[;,]\s*", names.strip()), map(float, values.split(";")), strict=False)
    for name, score in re.findall(
        r"([\w.]+\.\w+(?:\s*[;,]\s*[\w.]+\.\w+)*)\W{0,4}\(\s*(?:Score)?\s*:?\s*(\d?\.?\d+)\s*[);]", text
    ):
        for part in re.split(r"[;,]\s*", name):
            found.setdefault(part.strip(), float(score))
    if not found:
        for name, score in re.findall(r"(?m)^\W*(?:Score for\s+)?([^\W\d][^:\n{}]{1,80}?)\s*:\s*(\d?\.\d+)\b", text):
            if not re.fullmatch(r"(?i)scores?|total.*|.*sum.*", name.strip()):
                found.setdefault(name.strip(), float(score))
    listed = offered(row)
    for line in text.splitlines() if not found else ():
        numbers = re.findall(r"\d\.\d+", line)
        if re.fullmatch(r"\W*(?:Scores?\W*)?[\d., ]+", line) and 1 < len(numbers) == len(listed):
            found = {name: float(score) for name, score in zip(listed, numbers, strict=True)}
    if not found:
        raise NoContent("no score")
    return found


def offered(row: Row) -> list[str]:
    """Return the relations or entities at the end of the prompt of a reply."""
    listed = re.findall(r"(?:Relations|Entit\w*):([^\n]*)", row.get("prompt") or "")
    return [name.strip() for name in listed[-1].split(";") if name.strip()] if listed else []


def records(row: Row) -> frozenset[tuple[str, ...]]:
    """Return the entities by name, and the relationships by their ends, of a list of records."""
    text = _after_thinking(row["reply"])
    text = re.sub(r"```(?:python|py)\b.*?(?:```|\Z)", "", text, flags=re.DOTALL)
    found: set[tuple[str, ...]] = set()
    for kind, rest in re.findall(r"[(\n#`]?\s*[\"'“]?\b(entity|relationship|relation)[\"'”]?\s*<\|#?\|?>(.*)", text):
        for piece in [rest.split("##")[0]]:
            fields = [re.sub(r"^[\s\"'“(]+|[\s\"'”)]+$", "", field) for field in re.split(r"<\|#?\|?>", piece)]
            wanted = fields[:1] if kind == "entity" else fields[:2]
            if len(fields) >= len(wanted) + 1 and all(wanted) and not any("{" in field for field in wanted):
                found.add(tuple(" ".join(words(field)) for field in wanted))
    if not found:
        raise NoContent("no record, or a program instead")
    return frozenset(found)


def json_values(row: Row) -> list[Any]:
    """Return the JSON values of a reply: of the raw text, of its fences, or of its outermost brackets."""
    text = _after_thinking(row["reply"]).strip()
    marked = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\s*(.*?)\s*(?=\[\[ ##|\Z)", text, re.DOTALL))
    if marked:
        return [{key: value for key, value in marked.items() if value}]
    inner = [fence.strip() for fence in re.findall(r"```(?:json)?\s*([\[{].*?)```", text, re.DOTALL)]
    around = re.search(r"[\[{].*[\]}]", re.sub(r"\[/?[A-Z_]+\]", "", text), re.DOTALL)
    for group in ([text], inner, [around[0]] if around else [], re.findall(r"\{[^{}]*\}", text)):
        values = [value for piece in group if (value := _loaded(piece)) is not None]
        if values:
            return values
    raise NoContent("no JSON in it")


def _loaded(text: str) -> Any:  # noqa: ANN401 - JSON
    for form in (text, re.sub(r"\s//[^\n]*", "", text), re.sub(r",(\s*[}\]])", r"\1", re.sub(r"\s//[^\n]*", "", text))):
        try:
            return json.loads(form, strict=False)
        except ValueError:
            continue
    return None


def comparison(row: Row) -> str:
    """Return which of two answers a judge prefers ("1", "2" or "tie"), or its TRUE or FALSE."""
    text = row["reply"].strip()
    verdict = re.match(r"\[(TRUE|FALSE)\]", text)
    if verdict:
        return verdict[1].title()
    first = re.match(r"(\d+(?:\.\d+)?)[\s,/]+(\d+(?:\.\d+)?)\s*(?:\n|$)", text)
    pair = first or re.search(
        r"Assistant 1\W*(?:score\W*)?:?\W*(\d+(?:\.\d+)?)(?![^\n]*=)[^\n]*\n+"
        r"\W*Assistant 2\W*(?:score\W*)?:?\W*(\d+(?:\.\d+)?)",
        text,
    )
    better = re.findall(r"Assistant ([12])(?:'s \w+)? (?:performed|performs|did|is|was)(?: \w+)? better", text)
    if pair and (first or not better):
        one, two = float(pair[1]), float(pair[2])
        return "tie" if one == two else "1" if one > two else "2"
    if not better:
        raise NoContent("no preference")
    return str(better[-1])


_TRIPLE = re.compile(r"(?<![\w\\])([^\W\d][\w\\,]{1,80}(?:_\w+|\b|_))\(((?:[^()\n]|\([^()\n]*\))*)\)")


def triples(row: Row) -> frozenset[tuple[str, ...]]:
    """Return the triples of the first sentence as words, or the named entities of a JSON reply."""
    text = row["reply"]
    if text.lstrip().startswith("{"):
        (names,) = json.loads(text).values()
        return frozenset((" ".join(words(name)),) for name in names)
    blocks = re.split(r"(?im)^\W*(?:test )?sentence:", text)
    for block in blocks:
        found = set()
        for relation, inside in _TRIPLE.findall(block):
            subject, comma, target = inside.partition(",")
            if comma and words(subject) and words(target):
                found.add((" ".join(words(relation)), " ".join(words(subject)), " ".join(words(target))))
        if found:
            return frozenset(found)
    raise NoContent("no triple")


@dataclass(frozen=True, slots=True)
class Short:
    """A short answer as written ("" if only prose states it), and the reference answer if the reply names it."""

    text: str
    gold: str
    known: bool = True


_UNKNOWING = re.compile(
    r"(?i)\b(?:not sufficient|insufficient|no (?:specific |direct |relevant )?information|no knowledge triplets|"
    r"cannot|can't|unable|"
    r"missing information|additional (?:information|knowledge|context)|(?:do|does|did)(?: not|n't) (?:provide|"
    r"contain|mention|include|have|specify)|"
    r"(?:isn|is not|are not|not) (?:provided|possible|clear|specified|mentioned)|i need to know|would need|"
    r"sorry|no specific|please provide|"
    r"not answer|could you please|can you tell)"
)


def graph_answer(row: Row) -> Short:
    """Return the answer of a reply that should put it into braces, or be JSON."""
    text = row["reply"].strip()
    values = [value for value in [_loaded(text)] if isinstance(value, dict) and isinstance(value.get("A"), dict)]
    if values:
        answer = values[0]["A"].get("Answer", "")
        return Short(", ".join(answer) if isinstance(answer, list) else str(answer), _gold_in(row))
    braced = _last_braced(text)
    if braced:
        known = braced.casefold() not in ("unknown", "none", "n/a", "unname_entity")
        return Short(braced, _gold_in(row) if known else "", known)
    if not words(text):
        raise NoContent("no text")
    said = re.findall(r"(?i)answer to the question is:?\s+([^\n.{}]+)\.", text)
    return Short(said[-1] if said else "", "" if said else _gold_in(row), bool(said) or not _UNKNOWING.search(text))


def chain(row: Row) -> Short:
    """Return the final answer of a chain of thought."""
    text = row["reply"].strip()
    first = re.split(r"\n\s*Q(?:uestion)?:", text)[0]
    told = first if re.search(r"(?i)answer is|\{", first) else text
    ends = re.findall(r"(?i)\banswer is\W{0,6}(\([A-J]\)[^\n.]*|[A-J]\.)", told)
    if ends:
        return Short(" ".join(re.findall(r"\b[A-J]\b", ends[-1])), "")
    braced = _last_braced(told)
    if braced:
        return Short(braced, "", braced.casefold() not in ("unknown", "none", "n/a"))
    said = re.findall(r"(?i)\banswer is:?\s+\W*([^\n]+)", told)
    if said:
        return Short(" ".join(words(said[-1])), "")
    if not words(told) or re.search(r"(?i)let's break down|let's get started", text):
        raise NoContent("no final answer")
    return Short("", _gold_in(row), not _UNKNOWING.search(text))


def listed_questions(row: Row) -> tuple[str, ...]:
    """Return the questions of a list, as words, without their numbers."""
    text = row["reply"]
    try:
        values = json_values(row)
    except NoContent:
        values = []
    items = [item for value in values if isinstance(value, dict) for some in value.values() for item in some]
    lines = items or re.findall(r"(?m)^(?:#+ )?\s{0,2}\d+[.)、]\s*(.+)$", text)
    found = tuple(" ".join(words(re.sub(r"^\s*\d+[.)]\s*", "", item))) for item in lines if isinstance(item, str))
    if not found:
        raise NoContent("no list")
    return found


def answer_behind_thinking(row: Row) -> tuple[str, ...]:
    """Return the words after the reasoning of a reply."""
    text = _after_thinking(row["reply"])
    if not words(text):
        raise NoContent("the reasoning does not end, or nothing follows it")
    return words(text)


def _after_thinking(reply: str) -> str:
    if not re.match(r"\s*<think", reply):
        return reply
    return re.split(r"</think(?:ing)?>", reply)[-1] if "</think" in reply else ""


def plain(row: Row) -> tuple[str, ...]:
    """Return the words of an answer without marks."""
    found = words(_after_thinking(row["reply"]))
    if not found:
        raise NoContent("no text")
    return found
