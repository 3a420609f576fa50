"""The rule-based model of benchmarks/speed.py: replies made from the text, in each indexer's format.

    python -m benchmarks.speed_model LATENCY

It prints its base URL and serves until its standard input ends. Every chunk is gleaned once: asked whether something
was missed, the model says yes the first time and adds two records. The number of records and the words of a description
are about those of real replies on chunks of that length.
"""

import json
import re
import sys
from itertools import pairwise

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer

NAME = re.compile(r"\b[A-Z][\w'-]+(?:[ ](?:of |the )?[A-Z][\w'-]+)*")
LATE = re.compile(r"MANY |missed many records")
DIMENSIONS = 384
MOST = 14


def reply(request: FakeRequest) -> str | FakeReply:
    """Return records, votes, a yes or no, a report, or a summary, depending on the prompt."""
    last, prompt = request.last, request.prompt
    form = json.dumps(request.body.get("response_format", ""))
    if "findings" in form or "findings" in prompt:
        return report(prompt)
    if '"votes"' in form:
        pairs = re.findall(r"^Pair (\d+)$", prompt, re.M)
        return json.dumps({"votes": [{"pair": int(pair), "why": "Two names.", "same": False} for pair in pairs]})
    if '"enum"' in form or "YES | NO" in last or '"Yes"' in form:
        said = sum(message["role"] == "assistant" for message in request.body["messages"])
        yes = said < 2
        return json.dumps({"answer": "Yes" if yes else "No"}) if '"enum"' in form else ("yes" if yes else "no")
    if LATE.search(last):
        return records(text_of(prompt), late=True)
    if "<|>" in prompt:
        return records(text_of(prompt), late=False)
    told = "One description that says in a sentence or two what the several descriptions say of this one thing."
    return json.dumps({"description": told}) if '"required": ["description"]' in form else told


def text_of(prompt: str) -> str:
    """Return the text to read, at the end of an indexer's first prompt."""
    first = LATE.split(prompt, maxsplit=1)[0]
    return re.split(r"Now the (?:text|passage) to read|-Real Data-|Real Data", first)[-1]


def records(text: str, *, late: bool) -> str:
    """Return the names of a text as entities, and consecutive names as related."""
    names = list(dict.fromkeys(match for match in NAME.findall(text) if len(match) > 3))
    names = names[MOST : MOST + 2] if late else names[:MOST]
    rows = [
        f'("entity"<|>"{name}"<|>"person"<|>"{name} is one of the things that this text names and says something of.")'
        for name in names
    ]
    rows += [
        f'("relationship"<|>"{one}"<|>"{other}"<|>"{one} and {other} are named one after the other."<|>7)'
        for one, other in pairwise(names)
    ]
    return "##\n".join([*rows, "<|COMPLETE|>"])


def report(prompt: str) -> str:
    """Return a report of five findings that cite the first records of the prompt."""
    labels = re.findall(r"^\[([ERCS]\d+)\]", prompt, re.M)[:5] or ["1"]
    findings = [
        {
            "summary": f"What {label} says",
            "explanation": f"These things are named together, and this is said of them at some length here: {label}. "
            * 3,
            "records": [label],
        }
        for label in labels
    ]
    return json.dumps(
        {
            "title": "A group of things",
            "summary": "A group of things that are named together in these texts.",
            "rating": 5.0,
            "rating_explanation": "They are named often.",
            "findings": findings,
        }
    )


def main() -> None:
    """Serve until standard input ends."""
    with FakeServer(reply, latency=float(sys.argv[1]), dimensions=DIMENSIONS) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
