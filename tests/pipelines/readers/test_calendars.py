from pathlib import Path

from tests.pipelines.readers.reading import read

ICS = r"""BEGIN:VCALENDAR
BEGIN:VEVENT
UID:1@x
DTSTART;TZID="Europe/Oslo":20250519T163000Z
SUMMARY:Fire
  drill
ORGANIZER;CN="Ada Holm":mailto:a@x.example
DESCRIPTION:Bring water\, please\nand shoes
BEGIN:VALARM
DESCRIPTION:beep
END:VALARM
END:VEVENT
END:VCALENDAR
"""


def test_an_event_is_under_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "c.ics"
    path.write_text(ICS)
    row = read(path)[0][""]
    assert [place.label for place in row.places] == ["Fire drill"]
    assert row.text == (
        "Fire drill\n\nStart: 2025-05-19 16:30 UTC; Organizer: Ada Holm; Description: Bring water, please and shoes"
    )


def test_a_card(tmp_path: Path) -> None:
    path = tmp_path / "c.vcf"
    path.write_text("BEGIN:VCARD\nFN:Bo Ek\nTEL;TYPE=cell:12\nitem1.TEL:34\nEND:VCARD\n")
    assert read(path)[0][""].text == "Bo Ek\n\nTelephone: 12, 34"
    path.write_text("BEGIN:VCALENDAR\nEND:VCALENDAR\n")
    assert read(path) == ({}, {"!": "no event or card"})
