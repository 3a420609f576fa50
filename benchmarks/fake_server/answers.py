"""Fake replies to the prompts used at question time: sentences of the material shown, with their numbers."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.fake_server.facts import key_words, names, new_names, one_line, ranked, sentences, shared
from benchmarks.fake_server.filled_prompt import FilledPrompt

_PIECE = re.compile(r"^[ \t]*(?:- )?\[(\d+)\][ \t]*", re.MULTILINE)
_INLINE = re.compile(r"\[(\d+)\] ([^\[\n]+)")
_LISTED = re.compile(r"^[ \t]*(\d+)\.[ \t]+(.*)$", re.MULTILINE)
_MARK = re.compile(r"\s*\[(\d+)\]")
_LEAD = re.compile(r"\A[-* ]*(?:\(score \d+\) )?")
_HEAD = re.compile(r"\A[^.:]{1,80}: (?=\S+ \S+ \S+ \S)")
"""The names before the description of a record."""
_MOST_SENTENCES = 2
_SHORT = 3
"""Words of a heading, which is not a sentence."""
_ENOUGH = 2
"""Fewest question words that a sentence must share to answer it."""
_SETTLED = 0.6
"""Share of a question's words that a sentence must have to settle it."""
_RATINGS = 5
_MATERIAL = ("passages", "material", "reports", "texts", "facts", "chains", "paths", "pieces", "evidence")


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence of the material, and the numbers of the pieces that contain it."""

    text: str
    numbers: tuple[int, ...]


def _question(asked: FilledPrompt) -> str:
    return one_line(" ".join(filter(None, (asked.values.get("question", ""), asked.values.get("follow_up", "")))))


def _pieces(text: str) -> list[tuple[int, str]]:
    """Return the numbered pieces of some material."""
    marks = list(_PIECE.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    found = [(int(mark[1]), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=False)]
    if any(_INLINE.search(piece) for _, piece in found):  # several facts on a line
        found = [(int(number), piece.strip()) for number, piece in _INLINE.findall(text)]
    if not marks:
        found = [(int(number), piece) for number, piece in _LISTED.findall(text)]
    return found


def _notes(text: str) -> list[tuple[tuple[int, ...], str]]:
    """Return the texts of some material with their numbers, which precede a piece or follow a note."""
    pieces: list[tuple[tuple[int, ...], str]] = [((number,), piece) for number, piece in _pieces(text)]
    if pieces:
        return pieces
    found = ((_MARK.findall(line), _LEAD.sub("", _MARK.sub("", line))) for line in text.splitlines())
    return [(tuple(map(int, numbers)), line) for numbers, line in found if numbers]


def _best(asked: FilledPrompt, most: int = _MOST_SENTENCES) -> list[_Told]:
    """Return the sentences of all material that share the most words with the question."""
    question = _question(asked)
    of_text: dict[str, list[int]] = {}
    for place in _MATERIAL:
        for numbers, piece in _notes(asked.values.get(place, "")):
            for sentence in sentences(piece):
                if len(sentence.split()) > _SHORT:
                    of_text.setdefault(_HEAD.sub("", sentence.lstrip("-# ")), []).extend(numbers)
    told = [_Told(text, tuple(dict.fromkeys(numbers))) for text, numbers in of_text.items()]
    order = ranked(question, [one.text for one in told])
    return [told[place] for place in order if shared(question, told[place].text) >= _ENOUGH][:most]


def cited(asked: FilledPrompt) -> str:
    """Return an answer with a mark after each sentence, or a statement that the material contains none."""
    found = _best(asked)
    if not found:
        return "NOTHING: The documents that were found do not answer the question."
    return " ".join(f"{one.text.rstrip('.')} {''.join(f'[{number}]' for number in one.numbers[:3])}." for one in found)


def points(asked: FilledPrompt) -> dict[str, object]:
    """Return notes with scores, each from one sentence."""
    question = _question(asked)
    total = max(1, len(key_words(question)))
    notes = [
        {
            "description": one.text,
            "score": min(100, 20 + 80 * shared(question, one.text) // total),
            "numbers": list(one.numbers[:5]),
        }
        for one in _best(asked, 4)
    ]
    return {"points": notes}


def branch(asked: FilledPrompt) -> dict[str, object]:
    """Return the points of a DRIFT step, and a question about the first name in them that is new."""
    question, found = _question(asked), _best(asked, 3)
    score = min(90, 30 * len(found))
    told = [{"text": one.text, "sources": list(one.numbers[:5]), "score": score} for one in found]
    new = [name for one in found for name in new_names(one.text, question)][:2]
    return {"answer": told, "score": score, "follow_ups": [f"What is known about {name}?" for name in new]}


def rating(asked: FilledPrompt) -> dict[str, object]:
    """Return how much a report helps, from 0 to 5."""
    question = _question(asked)
    said = str(min(_RATINGS, shared(question, asked.values.get("report", ""))))
    return {"reason": "Some words of the question stand in it.", "answer": said}


def hypothesis(asked: FilledPrompt) -> str:
    """Return a passage made of the words of the question."""
    about = " and ".join(sorted(key_words(_question(asked)))[:8])
    return f"A report on this matter speaks of {about}. It says who took part, where it happened and when."


def thought(asked: FilledPrompt) -> str:
    """Return the next thought, or the answer if a thought settles the question."""
    question, before = _question(asked), asked.values.get("thoughts", "")
    known = " ".join((question, before))
    fresh = [text for text in sentences(asked.values.get("passages", "")) if text not in before and len(text) > 15]
    order = ranked(question, fresh)
    said = [text for text in sentences(before) if shared(question, text)]
    if said and (not order or shared(question, said[-1]) >= shared(question, fresh[order[0]])):
        named = new_names(said[-1], question) or names(said[-1])
        return f"So the answer is: {named[0] if named else 'unknown'}."
    if not order:
        return f"It has to be found what is known about {(names(known) or ['this'])[0]}."
    return fresh[order[0]]


def question_names(asked: FilledPrompt) -> list[str]:
    """Return the names in a question, else its content words."""
    question = asked.values.get("question", "")
    return names(question) or [word for word in question.rstrip("?").split() if len(word) > 4]


def helpful_facts(asked: FilledPrompt) -> dict[str, object]:
    """Return the numbers of the facts that share words with the question."""
    listed = _pieces(asked.values.get("facts", ""))
    order = ranked(_question(asked), [text for _, text in listed])
    most = int(asked.values.get("most", "5") or 5)
    return _chosen([(listed[place][0], 8) for place in order][:most])


def picks(asked: FilledPrompt) -> dict[str, object]:
    """Return the numbers of the groups that share most words with the question."""
    listed = _LISTED.findall(asked.values.get("selections", ""))
    order = ranked(_question(asked), [text for _, text in listed])
    return _chosen([(int(listed[place][0]), 8) for place in order][: int(asked.values.get("most", "1") or 1)])


def _chosen(scores: Sequence[tuple[int, int]]) -> dict[str, object]:
    """Return the form of every choice, from pairs of a number and a score."""
    return {
        "chosen": [
            {"number": number, "why": "Words of the question stand in it.", "score": score} for number, score in scores
        ]
    }


def plan(asked: FilledPrompt) -> dict[str, object]:
    """Return a relation path of one step from each name: the relation that shares most words with the question."""
    question = _question(asked)
    relations = [line.partition(" (")[0] for line in asked.values.get("predicates", "").splitlines()]
    best = max(relations, key=lambda each: shared(question, each.replace("_", " ")), default="")
    names_ = [line.strip() for line in asked.values.get("names", "").splitlines() if line.strip()]
    paths: list[object] = [{"start": name, "relations": [best]} for name in names_ if best]
    return {"reasoning": "It says so.", "paths": paths}


def topics(asked: FilledPrompt) -> dict[str, object]:
    """Return the numbers of the entities whose names appear in the question."""
    question = asked.values.get("question", "").casefold()
    listed = _LISTED.findall(asked.values.get("entities", ""))
    held = [(number, name) for number, name in listed if name.casefold().strip() in question] or listed
    return _chosen([(int(number), 8) for number, _ in held][: int(asked.values.get("most", "3") or 3)])


def scores(asked: FilledPrompt, key: str) -> dict[str, object]:
    """Return a score for each item of a list: its share of the question's words, at least 1."""
    given = asked.values.get("pieces", "") or asked.values.get(key, "")
    listed, question = _pieces(given), _question(asked)
    ends = sorted((-min(10, 1 + 3 * shared(question, text)), number) for number, text in listed)
    most = len(ends) if key in ("pieces", "passages") else 3 * int(asked.values.get("most", "3") or 3)
    return _chosen([(number, -score) for score, number in ends[:most]])


def reasoning(asked: FilledPrompt) -> dict[str, object]:
    """Return a ToG-2 verdict with the answer, or the known facts, and the numbers that support it."""
    question, found = _question(asked), _best(asked, 1)
    if not found:
        told = "Nothing that was found bears on the question."
        return {"reason": told, "sufficient": False, "answer": told, "facts": []}
    named = new_names(found[0].text, question)
    settles = shared(question, found[0].text) >= _SETTLED * len(key_words(question)) and bool(named)
    said = named[0] if settles else found[0].text
    return {"reason": found[0].text, "sufficient": settles, "answer": said, "facts": list(found[0].numbers[:2])}


def next_question(asked: FilledPrompt) -> str:
    """Return the question to look up next."""
    known = new_names(asked.values.get("clues", ""), _question(asked))
    return f"What is known about {known[0]}?" if known else asked.values.get("question", "")


def braced(asked: FilledPrompt) -> str:
    """Return a short answer in braces."""
    said = _short(asked)
    return f"{{{said[0] if said else 'unknown'}}}"


def _short(asked: FilledPrompt) -> list[str]:
    """Return the name that answers, from the lines of facts that share the most words with the question."""
    question = _question(asked)
    lines = [line for place in _MATERIAL for line in asked.values.get(place, "").splitlines()]
    order = ranked(question, lines)
    return new_names(lines[order[0]], question)[:1] if order else []


def from_facts(asked: FilledPrompt) -> dict[str, object]:
    """Return an answer with names and the numbers of facts and passages."""
    question, told = _question(asked), asked.values
    shown = {place: _pieces(told.get(place, "")) for place in ("facts", "chains", "passages")}
    facts = shown["facts"] or shown["chains"]
    order = ranked(question, [text for _, text in facts])
    chosen = [facts[place] for place in order if new_names(facts[place][1], question)][:1]
    near = ranked(question, [text for _, text in shown["passages"]])
    passages = [shown["passages"][place][0] for place in near[:1]]
    named = new_names(chosen[0][1], question) if chosen else []
    if not named:
        return {"reason": "Nothing bears on it.", "answer": "Unknown", "names": [], "facts": [], "passages": []}
    return {
        "reason": "The fact names what is asked for.",
        "answer": f"{named[0]}.",
        "names": named[:1],
        "facts": [chosen[0][0]],
        "passages": passages,
    }


def from_tables(asked: FilledPrompt) -> dict[str, object]:
    """Return an answer from a table of nodes and one of edges."""
    question = _question(asked)
    nodes_text, _, edges_text = asked.values.get("graph", "").partition("edge_id,")
    nodes = {row[0]: row[1] for row in csv.reader(io.StringIO(nodes_text.strip())) if len(row) > 1}
    edges = [row for row in csv.reader(io.StringIO(edges_text.strip())) if len(row) == len(_EDGE) and row[0].isdigit()]
    told = [" ".join((nodes.get(row[1], row[1]), row[2], nodes.get(row[3], row[3]))) for row in edges]
    order = ranked(question, told)
    ends = [edges[order[0]][at] for at in (1, 3)] if order else []
    named = [nodes.get(end, end) for end in ends]
    new = [name for name in named if name.casefold() not in question.casefold()]
    if not new:
        return {"thoughts": "No edge bears on it.", "answer": "Unknown", "names": [], "nodes": [], "edges": []}
    name = one_line(new[0]).partition(":")[0]
    numbers = [int(end) for end in ends if end.isdigit()]
    return {
        "thoughts": "One edge joins what the question names with this.",
        "answer": f"{name}.",
        "names": [name],
        "nodes": numbers,
        "edges": [int(edges[order[0]][0])],
    }


_EDGE = ("edge_id", "src", "edge_attr", "dst")


def label(asked: FilledPrompt) -> str:
    """Return whether a claim is true by the material shown."""
    return "SUPPORTS" if _best(asked, 1) else "NOT ENOUGH INFO"


def agrees(asked: FilledPrompt) -> dict[str, object]:
    """Return whether a source supports a sentence."""
    sentence = asked.values.get("sentence", "")
    held = shared(sentence, asked.values.get("source", "")) >= len(key_words(sentence)) / 2
    return {"reason": "The words were compared.", "answer": "Yes" if held else "No"}


def better(asked: FilledPrompt) -> dict[str, object]:
    """Return which of two answers shares more words with the question."""
    first, second = (shared(_question(asked), asked.values.get(each, "")) for each in ("first", "second"))
    choice = "tie" if first == second else "1" if first > second else "2"
    return {"reason": f"They share {first} and {second} words with the question.", "better": choice}


def asked_of(asked: FilledPrompt, forms: Sequence[str]) -> list[str]:
    """Return questions about the names in a description."""
    about = names(asked.values.get("description", "") or asked.values.get("history", "")) or ["the collection"]
    count = int(asked.values.get("count", "3") or 3)
    return [forms[place % len(forms)].format(about[place % len(about)], place + 1) for place in range(count)]
