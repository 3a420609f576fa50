"""A model that reads only capital letters: rule-made replies to the prompts of indexing, for tests of the whole way."""

import json
import re
from itertools import pairwise

from benchmarks.fake_server import FakeRequest
from tests.tags import inside

NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)+\b")
PAIR = re.compile(r"^Pair (\d+)$", re.MULTILINE)


def reply(request: FakeRequest) -> str:
    """Return records of the names in a text, "no" to gleaning, a report on what is listed, a summary, or an answer."""
    form = json.dumps(request.body.get("response_format", "")) + request.last
    if "findings" in form:
        return report(inside(request.prompt, "records"))
    if "Answer for every pair, by its number." in request.prompt:
        return json.dumps({"votes": [{"pair": int(each), "same": False} for each in PAIR.findall(request.prompt)]})
    if '"required": ["description"]' in form:
        return json.dumps({"description": "Everything of it in one sentence."})
    if '"enum"' in form or '"const"' in form:
        return json.dumps({"answer": "No" if '"No"' in form else "N"})
    if "<|>" in request.prompt:
        return records(request.last)
    return "Everything of it in one sentence."


def records(prompt: str) -> str:
    """Return the names of the text that a prompt ends with as entities, neighbours among them as related."""
    names = list(dict.fromkeys(NAME.findall(inside(prompt, "text") if "<text>" in prompt else prompt)))[:8]
    entities = [f'("entity"<|>"{each}"<|>"person"<|>"{each} is named in it.")' for each in names]
    related = [
        f'("relationship"<|>"{one}"<|>"{other}"<|>"{one} stands beside {other}."<|>{3 + number % 7})'
        for number, (one, other) in enumerate(pairwise(names))
    ]
    return "##\n".join([*entities, *related]) + "##\n<|COMPLETE|>"


def report(prompt: str) -> str:
    """Return a report whose one finding rests on the first records of the prompt."""
    labels = re.findall(r"\b[ERCS]\d+(?:\.\d+)?\b", prompt)[:2]
    finding = {"summary": "They stand together", "explanation": "These things are named together.", "records": labels}
    return json.dumps(
        {
            "title": "A group",
            "summary": "A group of names.",
            "rating": 5,
            "rating_explanation": "",
            "findings": [finding],
        }
    )
