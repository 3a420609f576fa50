"""A German corpus of ships, and a model by rule that prompts can be fitted to it with."""

import json
from itertools import pairwise
from pathlib import Path

from benchmarks.fake_server import FakeRequest
from tests import graph_model
from tests.tags import inside

PEOPLE = ("Karl Brandt", "Anna Voss", "Otto Reimers", "Lina Petersen", "Emil Thode", "Marie Sloman")
SHIPS = ("Helene Woermann", "Alte Liebe", "Gute Hoffnung", "Frau Antje", "Roter Sand", "Grosser Vogel")

DOMAIN = "Akten eines Hamburger Seeamts über Schiffe, Kapitäne und Reedereien im 19. Jahrhundert."
LANGUAGE = "Deutsch"
PERSONA = "Du bist Archivarin für die Geschichte der Seefahrt und achtest auf Schiffe und ihre Leute."
REPORTER = "Du schreibst für Forschende, die wissen wollen, wer mit wem zur See fuhr."
TYPES = ("Person", "Schiff", "Hafen")


def write_corpus(folder: Path) -> Path:
    """Write twelve short German documents into a folder and return it."""
    folder.mkdir()
    for number in range(12):
        person, other = PEOPLE[number % 6], PEOPLE[(number + 1) % 6]
        ship, second = SHIPS[number % 6], SHIPS[(number + 2) % 6]
        (folder / f"akte{number:02}.txt").write_text(
            f"Im Jahre {1850 + number} lief das Schiff {ship} unter der Führung von {person} aus dem Hafen aus. "
            f"Vor der Küste begegnete es im Nebel der Bark {second}, die {other} befehligte. "
            f"Das Seeamt befand später, dass {person} die Lichter nicht gesetzt hatte; {other} sagte dagegen aus.\n",
            "utf-8",
        )
    return folder


def reply(request: FakeRequest) -> str:
    """Return what the tuning prompts ask for, in German, and what `tests.graph_model` says to all other prompts."""
    prompt = request.prompt
    if "You describe a collection" in prompt:
        return json.dumps({"domain": DOMAIN, "language": LANGUAGE})
    if "You describe the expert" in prompt:
        return json.dumps({"extraction": PERSONA, "reports": REPORTER})
    if "You choose the types of entities" in prompt:
        relations = [
            {"name": "führt", "source": "person", "target": "Schiff", "description": "Befehl."},
            {"name": "Führt", "source": "Person", "target": "Hafen", "description": ""},
            {"name": "sinkt", "source": "Person", "target": "Nebel", "description": "Kein Typ."},
        ]
        types = [*({"name": name, "description": ""} for name in TYPES), "person", " Hafen "]
        return json.dumps({"types": types, "relations": relations})
    if "These count as claims" in prompt and "an example for them to go by" in prompt:
        return claim(example_text(prompt))
    if "an example for them to go by" in prompt:
        return records(example_text(prompt))
    return graph_model.reply(request)


def example_text(prompt: str) -> str:
    """Return the text that a tuning prompt ends with."""
    return inside(prompt, "text")


def records(text: str) -> str:
    """Return the people and ships of a text as entities, neighbours among them as related."""
    names = [each for each in (*SHIPS, *PEOPLE) if each in text]
    entities = [
        f'("entity"<|>"{each}"<|>"{"schiff" if each in SHIPS else "person"}"<|>"{each} kommt in der Akte vor.")'
        for each in names
    ]
    related = [
        f'("relationship"<|>"{one}"<|>"{other}"<|>"begegnete"<|>"{one} und {other} begegnen einander."<|>6)'
        for one, other in pairwise(names)
    ]
    return "##\n".join([*entities, *related]) + "##\n<|COMPLETE|>"


def claim(text: str) -> str:
    """Return the finding of a file on who had set no lights."""
    guilty = next(each for each in PEOPLE if f"dass {each} die Lichter" in text)
    quote = text[text.index("Das Seeamt") :]
    return (
        f'("claim"<|>"{guilty}"<|>NONE<|>"Fahrlässigkeit"<|>"true"<|>NONE<|>NONE'
        f'<|>"{guilty} setzte keine Lichter."<|>"{quote}")##\n<|COMPLETE|>'
    )
