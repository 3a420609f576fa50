"""The simulated models of benchmarks/estimate.py; the estimator knows none of them.

`recorded` writes replies as long as those recorded from GPT-4o, whatever the length of the text; it says yes to every
other gleaning. `proportional` writes in proportion to the text, and never misses anything. `rules` is the model of
benchmarks/speed.py: up to 14 names, yes to every gleaning, short records. `replayed` returns the recorded replies
themselves, chosen by the hash of the prompt; they repeat the same names throughout.
"""

import json
import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from benchmarks import speed_model
from benchmarks.fake_server import FakeReply, FakeRequest, prose
from benchmarks.reply_lengths import length

Model = Callable[[FakeRequest], str | FakeReply]

_NAME = re.compile(r"\b[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|[\u4e00-\u9fff]{2,4}(?=[，。、“》的在是于和])")
_LABEL = re.compile(r"^\[([ERCS]\d+(?:\.\d+)?)\]", re.MULTILINE)


def recorded(request: FakeRequest) -> str:
    """Reply at the lengths of real replies."""
    return _reply(
        request,
        characters=lambda text: length("extraction", _share(request)),
        says_yes=_share(request) < 0.5,
        report=length("report", _share(request)),
    )


def proportional(request: FakeRequest) -> str:
    """Reply in proportion to the text: five characters for two of the text, twelve for a Chinese one."""
    labels = len(_LABEL.findall(request.prompt))
    return _reply(
        request,
        characters=lambda text: round(sum(2.5 if item.isascii() else 6 for item in text)),
        says_yes=False,
        report=300 + 120 * min(labels, 20),
    )


def replayed(folder: Path) -> Model:
    """Return a model that repeats recorded replies."""
    rows = [json.loads(line)["reply"] for line in (folder / "replies.jsonl").read_text("utf-8").splitlines()]
    extractions = [row for row in rows if "<|>" in row]
    reports = [row[row.index("{") : row.rindex("}") + 1] for row in rows if "findings" in row]

    def reply(request: FakeRequest) -> str:
        dice = random.Random(request.digest)
        if "findings" in _form(request):
            labels = _LABEL.findall(request.prompt)
            report = json.loads(dice.choice(reports))
            report["findings"] = [{**item, "records": labels[:2]} for item in report["findings"]]
            return json.dumps({key: report[key] for key in report})
        if '"enum"' in _form(request):
            return json.dumps({"answer": dice.choice(["Yes", "No"])})
        return dice.choice(extractions) if "<|>" in request.prompt else prose(request.digest, 700)

    return reply


def models(recorded_replies: Path | None) -> dict[str, Model]:
    """Return the models by name."""
    known: dict[str, Model] = {"recorded": recorded, "proportional": proportional, "rules": speed_model.reply}
    return known | ({"replayed": replayed(recorded_replies)} if recorded_replies else {})


def _share(request: FakeRequest) -> float:
    return random.Random(f"share {request.digest}").random()


def _form(request: FakeRequest) -> str:
    return json.dumps(request.body.get("response_format", ""))


def _reply(request: FakeRequest, characters: Callable[[str], int], says_yes: bool, report: int) -> str:
    form = _form(request)
    if "findings" in form:
        return _report(request, report)
    if '"enum"' in form:
        return json.dumps({"answer": "Yes" if says_yes else "No"})
    if "<|>" in request.prompt:
        text = request.last
        gleaned = len(request.messages) > 2  # system, user, and more
        return _records(text, characters(text) // (2 if gleaned else 1), gleaned, request.digest)
    return prose(request.digest, 600)


def _records(text: str, characters: int, gleaned: bool, key: str) -> str:
    names = list(dict.fromkeys(_NAME.findall(text)))
    names = list(reversed(names)) if gleaned else names
    words = 12 if text.isascii() else 10
    rows: list[str] = []
    size = 0
    for one, other in pairwise([*names, *names[:1]]):
        if size >= characters:
            break
        said = [prose((key, one, kind), 8 * words) for kind in (1, 2)]
        rows.append(f'("entity"<|>"{one}"<|>"person"<|>"{one}: {said[0]}")')
        if one != other:
            rows.append(f'("relationship"<|>"{one}"<|>"{other}"<|>"{one} and {other}: {said[1]}"<|>7)')
        size = sum(map(len, rows))
    # The first name gets all records that the names do not suffice for.
    if rows and size < characters:
        rows.append(f'("entity"<|>"{names[0]}"<|>"person"<|>"{prose((key, "rest"), characters - size)}")')
    return "##\n".join([*rows, "<|COMPLETE|>"])


def _report(request: FakeRequest, characters: int) -> str:
    labels = _LABEL.findall(request.prompt) or ["E1"]
    each = max(40, characters // 6 - 60)
    findings = [
        {
            "summary": prose((request.digest, place), 40),
            "explanation": prose((request.digest, -place), each),
            "records": labels[place : place + 2] or labels[:1],
        }
        for place in range(5)
    ]
    return json.dumps(
        {
            "title": "A group",
            "summary": prose(request.digest, each),
            "rating": 5.0,
            "rating_explanation": "They are named often.",
            "findings": findings,
        }
    )
