"""Ways in which models spoil JSON, each as a function of a good reply: `MALFORMED["fence"]('{"a": 1}')`.

All were seen from real models or servers. None stands for a null content. As faults of a fake server:
`Faults({"fence": 0.1}, spoilers=MALFORMED)`.
"""

import json
import re
from collections.abc import Callable
from typing import Literal

MalformedKind = Literal[
    "fence",
    "bare_fence",
    "open_fence",
    "prose",
    "think",
    "byte_order_mark",
    "trailing_comma",
    "missing_comma",
    "comments",
    "single_quotes",
    "python_literals",
    "unquoted_keys",
    "smart_quotes",
    "raw_newline",
    "bad_escape",
    "doubled_braces",
    "unclosed",
    "truncated",
    "ellipsis",
    "html",
    "escaped_string",
    "bare_list",
    "two_values",
    "json_lines",
    "wrapped",
    "empty",
    "blank",
    "refusal",
    "null_content",
]


def _indented(text: str) -> str:
    """Return JSON indented, as it usually is where comments and trailing commas appear; other text unchanged."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except json.JSONDecodeError:
        return text


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    """Change what is outside JSON strings."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def _inside_strings(text: str, change: Callable[[str], str]) -> str:
    """Change the JSON strings, quotes included."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(change(part) if i % 2 else part for i, part in enumerate(parts))


def _trailing_comma(text: str) -> str:
    return _outside_strings(_indented(text), lambda gap: re.sub(r"(\s*)([}\]])", r",\1\2", gap))


def _missing_comma(text: str) -> str:
    """Drop the first comma between two members."""
    done = False

    def drop(gap: str) -> str:
        nonlocal done
        if done or "," not in gap:
            return gap
        done = True
        return gap.replace(",", "", 1)

    return _outside_strings(_indented(text), drop)


def _python_literals(text: str) -> str:
    names = {"true": "True", "false": "False", "null": "None"}
    return _outside_strings(text, lambda gap: re.sub(r"\b(true|false|null)\b", lambda m: names[m[1]], gap))


def _single_quotes(text: str) -> str:
    return _inside_strings(text, lambda quoted: "'" + quoted[1:-1].replace('\\"', '"').replace("'", "\\'") + "'")


def _unquoted_keys(text: str) -> str:
    return re.sub(r'"([A-Za-z_]\w*)"(\s*:)', r"\1\2", text)


def _raw_newline(text: str) -> str:
    return _inside_strings(text, lambda quoted: quoted.replace("\\n", "\n").replace(" ", "\n", 1))


def _bad_escape(text: str) -> str:
    return _inside_strings(text, lambda quoted: quoted.replace(" ", " \\' ", 1))


def _unclosed(text: str) -> str:
    return text.rstrip().rstrip("}]").rstrip()


def _truncated(text: str) -> str:
    return text[: max(1, len(text) * 2 // 3)]


def _bare_list(text: str) -> str:
    """Give the first list of an object without the object around it."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return f"[{text}]"
    lists = [item for item in value.values() if isinstance(item, list)] if isinstance(value, dict) else []
    return json.dumps(lists[0] if lists else [value], ensure_ascii=False)


def _json_lines(text: str) -> str:
    """Give every member as an object on a line of its own."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return f"{text}\n{text}"
    members = [{key: item} for key, item in value.items()] if isinstance(value, dict) else [value, value]
    return "\n".join(json.dumps(member, ensure_ascii=False) for member in members)


REFUSAL = "I'm sorry, but I can't assist with that request."

MALFORMED: dict[MalformedKind, Callable[[str], str | None]] = {
    "fence": lambda text: f"```json\n{text}\n```",
    "bare_fence": lambda text: f"```\n{text}\n```",
    "open_fence": lambda text: f"```json\n{text}",
    "prose": lambda text: f"Sure! Here is the JSON you asked for:\n\n{text}\n\nLet me know if you need anything else.",
    "think": lambda text: (
        f'<think>\nThey want JSON such as {{"a": [1, 2]}}, so I list what I found.\n</think>\n\n{text}'
    ),
    "byte_order_mark": lambda text: f"\ufeff{text}",
    "trailing_comma": _trailing_comma,
    "missing_comma": _missing_comma,
    "comments": lambda text: "// the result\n" + _indented(text).replace("\n", "  // as found in the text\n", 1),
    "single_quotes": _single_quotes,
    "python_literals": _python_literals,
    "unquoted_keys": _unquoted_keys,
    "smart_quotes": lambda text: _inside_strings(text, lambda quoted: f"“{quoted[1:-1]}”"),
    "raw_newline": _raw_newline,
    "bad_escape": _bad_escape,
    "doubled_braces": lambda text: _outside_strings(text, lambda gap: gap.replace("{", "{{").replace("}", "}}")),
    "unclosed": _unclosed,
    "truncated": _truncated,
    "ellipsis": lambda text: f"{_truncated(text)} ...",
    "html": lambda text: f"<html><body><pre>{text}</pre></body></html>",
    "escaped_string": lambda text: json.dumps(text),
    "bare_list": _bare_list,
    "two_values": lambda text: f"{text}\n{text}",
    "json_lines": _json_lines,
    "wrapped": lambda text: f'{{"response": {text}}}',
    "empty": lambda _: "",
    "blank": lambda _: " \n",
    "refusal": lambda _: REFUSAL,
    "null_content": lambda _: None,
}
"""Functions by kind. Text that is not JSON is spoilt as far as the kind allows."""
