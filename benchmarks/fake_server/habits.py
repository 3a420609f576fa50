"""The habits of model families: how they phrase a reply whose content stays the same.

The shares are those counted over recorded replies (GPT-4o, GPT-4.1, GPT-5; Llama 3; Qwen 2 and 3; "sloppy" takes the
worst of DeepSeek, Gemma, Phi, GPT-3.5 and Llama 2), rounded to hundredths; a habit known only from reports
has a small share. Each reply draws its own, repeatably.
"""

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

Habits = Literal["none", "gpt", "llama", "qwen", "sloppy"]
HABITS: tuple[str, ...] = get_args(Habits)

Form = Literal["json", "records", "cited", "verdict", "scores", "choice", "line", "prose"]
"""The form that a prompt asks for: JSON, records, an answer with marks, a verdict in braces, scores of a list, one of
several words, one line, or prose."""

_SHARES: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "gpt": {
        "*": {"newline": 0.16},
        "records": {"fence": 0.07, "no_end": 0.08, "goes_on": 0.07, "spaced": 0.01},
        "cited": {"sources": 0.93, "links": 0.36, "comma": 0.06, "range": 0.05, "lenticular": 0.05, "after_stop": 0.13},
        "line": {"bold": 0.05},
    },
    "llama": {
        "*": {"newline": 0.06},
        "records": {"preamble": 0.97, "fence": 0.3, "no_end": 0.45, "goes_on": 0.37, "unquoted": 0.14},
        "json": {"preamble": 0.08, "fence": 0.3},
        "cited": {"based_on": 0.26, "label": 0.04, "preamble": 0.08, "comma": 0.5, "sources": 0.1},
        "verdict": {"label": 0.04, "in_prose": 0.02, "bare": 0.01, "invents": 0.17},
        "scores": {"in_lines": 0.4, "fence": 0.1},
        "choice": {"word": 0.5, "label": 0.04},
        "line": {"label": 0.04, "invents": 0.17},
        "prose": {"preamble": 0.08},
    },
    "qwen": {
        "*": {"think": 0.5},
        "records": {"preamble": 0.05, "fence": 0.05},
        "json": {"fence": 0.1},
        "cited": {"apart": 0.45, "lenticular": 0.1, "after_stop": 0.13, "based_on": 0.05, "sources": 0.3},
        "verdict": {"bare": 0.98, "label": 0.01},
        "choice": {"word": 0.9},
        "line": {"label": 0.01},
    },
    "sloppy": {
        "*": {"newline": 0.83, "think": 0.1, "channel": 0.05},
        "records": {"preamble": 0.3, "fence": 0.4, "no_end": 0.26, "spaced": 0.04, "numbered": 0.3, "goes_on": 0.2},
        "json": {"fence": 0.93, "preamble": 0.12, "python": 0.2, "comma_at_end": 0.1, "curly_quote": 0.05},
        "cited": {
            "after_stop": 0.97,
            "data": 0.4,
            "named": 0.2,
            "footnote": 0.1,
            "escaped": 0.1,
            "label": 0.4,
            "sources": 0.93,
        },
        "verdict": {"bare": 0.2, "bold": 0.2, "label": 0.4, "in_prose": 0.05, "invents": 0.1},
        "scores": {"in_lines": 0.3, "fence": 0.5, "as_text": 0.3},
        "choice": {"word": 0.5, "label": 0.4, "bold": 0.2, "fence": 0.2},
        "line": {"label": 0.4, "bold": 0.2, "invents": 0.1},
        "prose": {"label": 0.2},
    },
}
"""The share of replies with each habit, by family and form; "*" applies to all forms."""

_ORDER = (
    "python", "as_text", "comma_at_end", "curly_quote", "in_lines", "word", "bare", "in_prose", "unquoted", "spaced",
    "numbered", "no_end", "goes_on", "after_stop", "comma", "range", "apart", "lenticular", "links", "data", "named",
    "footnote", "escaped", "bold", "fence", "based_on", "label", "preamble", "sources", "invents", "newline", "think",
    "channel",
)  # fmt: skip
"""Habits in the order of application, from the inside of a reply outwards."""
_EXCLUDE = (
    frozenset({"comma", "range", "apart", "lenticular", "links", "data", "named", "footnote", "escaped"}),
    frozenset({"no_end", "goes_on"}),
    frozenset({"python", "comma_at_end", "curly_quote", "in_lines", "as_text"}),
    frozenset({"preamble", "label", "based_on", "in_prose"}),
    frozenset({"think", "channel"}),
    frozenset({"bare", "bold"}),
)
"""A reply has at most one of these."""
_MARKS = re.compile(r"(?:\[\d+\])+")
_STOP = re.compile(r"\s*((?:\[\d+\])+)([.!?])")
_VERDICT = re.compile(r"\A\{(Yes|No)\}")
_ALREADY_ODD = "NOTHING"


def spoken(content: str | dict[str, Any], form: Form, habits: Habits, rng: random.Random) -> str:
    """Return a reply as a family of models writes it.

    >>> spoken({"answer": "No"}, "choice", "none", random.Random(1))
    '{"answer": "No"}'
    """
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if habits == "none":
        return text
    shares = {**_SHARES[habits]["*"], **_SHARES[habits].get(form, {})}
    drawn = [habit for habit in _ORDER if rng.random() < shares.get(habit, 0.0)]
    for group in _EXCLUDE:
        inside = [habit for habit in drawn if habit in group]
        for habit in inside[1:]:
            drawn.remove(habit)
    if form == "cited" and text.startswith(_ALREADY_ODD):
        drawn = [habit for habit in drawn if habit in ("newline", "think", "channel")]
    for habit in drawn:
        text = _APPLY[habit](text, content)
    return text


def _marks(write: Callable[[list[str]], str]) -> Callable[[str, object], str]:
    """Return a habit that rewrites each group of marks with `write`, which takes its numbers."""

    def apply(text: str, _content: object) -> str:
        return _MARKS.sub(lambda marks: write(re.findall(r"\d+", marks[0])), text)

    return apply


def _ranges(numbers: list[str]) -> str:
    in_row = len(numbers) > 1 and [int(each) for each in numbers] == list(range(int(numbers[0]), int(numbers[-1]) + 1))
    return f"[{numbers[0]}-{numbers[-1]}]" if in_row else "".join(f"[{each}]" for each in numbers)


def _sources(text: str, _content: object) -> str:
    numbers = dict.fromkeys(re.findall(r"\b\d{1,3}\b", " ".join(re.findall(r"[\[【][^\]】]*[\]】]", text))))
    listed = "\n".join(f"[{number}] Document {number}" for number in numbers)
    return f"{text}\n\n### Sources\n{listed}" if listed else text


def _program(content: object) -> str:
    return repr(content) if not isinstance(content, str) else content


def _lines_of_scores(_text: str, content: object) -> str:
    items = next(iter(content.values())) if isinstance(content, dict) else []
    return "\n".join(f"{each['number']}: (Score: {each['score']})" for each in items) or json.dumps(content)


def _scores_as_text(_text: str, content: object) -> str:
    if not isinstance(content, dict):
        return str(content)
    told = {key: [{**each, "score": f"{each['score']}/10"} for each in items] for key, items in content.items()}
    return json.dumps(told, ensure_ascii=False)


def _word(text: str, content: object) -> str:
    return f"{content['answer']}." if isinstance(content, dict) and "answer" in content else text


def _bare(text: str, _content: object) -> str:
    if not _VERDICT.match(text):
        return text
    verdict, _, rest = _VERDICT.sub(lambda said: f"{said[1]}.", text).partition(" ")
    return f"{verdict} {rest}"


def _in_prose(text: str, _content: object) -> str:
    return f"Let me look at what is given. It has to be compared with the question.\n\n{text}"


def _thinking(text: str, _content: object) -> str:
    return (
        '<think>\nOkay, what is wanted here? Perhaps {No}, or [9], or {"answer": "none"}. No, the material says '
        f"it clearly, so this can be given as it is.\n</think>\n\n{text}"
    )


def _channel(text: str, _content: object) -> str:
    return (
        "<|channel|>analysis<|message|>The user wants this in the form that was described. Let me do it.<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{text}"
    )


def _goes_on(text: str, _content: object) -> str:
    return f"{text}\n\nThese are all the records that could be found in the given text. Tell me if more is needed."


def _preamble(text: str, _content: object) -> str:
    return f"Here is what was asked for, based on what is given:\n\n{text}"


_APPLY: Mapping[str, Callable[[str, object], str]] = {
    "newline": lambda text, _: f"\n\n{text}",
    "think": _thinking,
    "channel": _channel,
    "preamble": _preamble,
    "label": lambda text, _: f"Answer: {text}",
    "based_on": lambda text, _: f"Based on the material, {text}",
    "fence": lambda text, content: f"```{'' if isinstance(content, str) else 'json'}\n{text}\n```",
    "bold": lambda text, _: _VERDICT.sub(r"**{\1}**", text) if _VERDICT.match(text) else f"**{text}**",
    "in_prose": _in_prose,
    "bare": _bare,
    "word": _word,
    "invents": lambda text, _: f"{text}\n\nQ: Which other thing is known?\nA: {{Yes}} {{Nothing of it}}",
    "no_end": lambda text, _: text.replace("<|COMPLETE|>", "").rstrip(),
    "goes_on": _goes_on,
    "spaced": lambda text, _: text.replace("<|>", " <|> "),
    "unquoted": lambda text, _: re.sub(r'"(?=<\|>|\)##)|(?<=<\|>)"', "", text),
    "numbered": lambda text, _: re.sub(r'(?m)^\("', '- ("', text),
    "python": lambda text, content: _program(content) if not isinstance(content, str) else text,
    "comma_at_end": lambda text, _: f"{text[:-1]},}}" if text.endswith("}") and text != "{}" else text,
    "curly_quote": lambda text, _: text.replace('": "', '": “', 1).replace('",', "”,", 1),
    "in_lines": _lines_of_scores,
    "as_text": _scores_as_text,
    "after_stop": lambda text, _: _STOP.sub(r"\2 \1", text),
    "comma": _marks(lambda numbers: f"[{', '.join(numbers)}]"),
    "range": _marks(_ranges),
    "apart": _marks(lambda numbers: " ".join(f"[{each}]" for each in numbers)),
    "lenticular": _marks(lambda numbers: "".join(f"【{each}】" for each in numbers)),
    "links": _marks(lambda numbers: "".join(f"[[{each}]](https://example.org/{each})" for each in numbers)),
    "data": _marks(lambda numbers: f"[Data: Sources ({', '.join(numbers)}, +more)]"),
    "named": _marks(lambda numbers: "".join(f"[Passage {each}]" for each in numbers)),
    "footnote": _marks(lambda numbers: "".join(f"[^{each}]" for each in numbers)),
    "escaped": _marks(lambda numbers: "".join(f"\\[{each}\\]" for each in numbers)),
    "sources": _sources,
}
