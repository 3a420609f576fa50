"""Read subtitles and transcripts (.vtt, .srt): who said what and when, a line for each time that somebody speaks.

The form is that of conversations (`chats`): "00:12:09 Emeka Strand: the boats were too slow".
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.markup import read_whole
from conspectus.pipelines.readers.rows import Row
from conspectus.storage.settings import InputSettings

_TIMES = re.compile(r"(?:(\d{1,4}):)?(\d\d):(\d\d)[.,]\d{1,3}[ \t]+-->")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,80})?\s([^<>]{1,200})>")
_SPEAKER = re.compile(r"(?:-|>>|\[)?[ \t]*([^\W\d_][\w.'’ -]{0,40})\]?:[ \t]+")
_TAG = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_ENDS = tuple(".?!…。？！।؟")
_LONGEST = 400
"""The characters beyond which the next cue begins a new line, whoever speaks."""


def read_transcript(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the cues of a file as one text; consecutive cues of one speaker are one line, with the time of the first.

    Without names, cues are joined up to the end of a sentence, if the file has full stops. Raises Unreadable if no line
    gives the times of a cue.
    """
    blocks = re.split(r"\n(?:[ \t]*\n)+", read_whole(path, settings))
    cues = [cue for block in blocks if (cue := _cue(block)) and cue[2]]
    if not cues:
        raise Unreadable("no subtitles", "no line gives the times of a cue")
    punctuated = 3 * sum(text.endswith(_ENDS) for *_, text in cues) > len(cues)
    lines: list[tuple[str, str, str]] = []
    for when, who, text in cues:
        last = lines[-1] if lines else ("", "?", "")
        goes_on = bool(who) or (punctuated and not last[2].endswith(_ENDS))
        if goes_on and last[1] == who and len(last[2]) < _LONGEST:
            lines[-1] = (*last[:2], f"{last[2]} {text}")
            continue
        lines.append((when, who, text))
    yield Row(None, None, None, "\n".join(f"{when} {who}{': ' if who else ''}{text}" for when, who, text in lines), {})


def _cue(block: str) -> tuple[str, str, str] | None:
    """Return the time, the speaker and the words of a cue, None for a comment or a style."""
    lines = block.split("\n")
    times = next(((at, found) for at, line in enumerate(lines[:3]) if (found := _TIMES.match(line.strip()))), None)
    if times is None:
        return None
    said = " ".join(lines[times[0] + 1 :]).strip()
    voice = _VOICE.search(said) or _SPEAKER.match(said)
    said = said[voice.end() :] if voice and voice.re is _SPEAKER else said
    hours, minutes, seconds = times[1].groups()
    who = " ".join(unescape(voice[1]).split()) if voice else ""
    return f"{int(hours or 0):02}:{minutes}:{seconds}", who, " ".join(unescape(_TAG.sub("", said)).split())
