"""Subtitles: who said what and when, without tags, numbers and styles."""

from pathlib import Path

from tests.pipelines.readers.reading import read

VTT = """WEBVTT

STYLE
::cue { color: red }

1
00:02.000 --> 00:04.000
<v.loud Ada Holm>the boat

00:05.000 --> 00:06.000 align:start
<v Ada Holm>is <i>sold</i> &amp; gone

01:00:07.500 --> 01:00:09.000
Bo: to whom?
"""
SRT = "1\r\n00:00:01,000 --> 00:02\r\n{\\an8}The lamp was\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\nlit. Then\r\n"


def test_consecutive_cues_of_a_speaker_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "call.vtt"
    path.write_text(VTT)
    assert read(path)[0][""].text == "00:00:02 Ada Holm: the boat is sold & gone\n01:00:07 Bo: to whom?"


def test_cues_without_names_are_joined_where_sentences_end(tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_text(SRT + "\r\n3\r\n00:00:04,000 --> 00:00:05,000\r\nit burned.\r\n\r\n4\r\n00:00:06,000 --> 7\r\nOut.")
    assert read(path)[0][""].text == "00:00:01 The lamp was lit. Then it burned.\n00:00:06 Out."
    path.write_text("no cue")
    assert read(path) == ({}, {"!": "no subtitles"})
