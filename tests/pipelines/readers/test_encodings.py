from pathlib import Path

import pytest
from conspectus.pipelines.readers.encodings import Unreadable, clean, decoded, open_text

GERMAN = "Das Mädchen aß Äpfel über dem Fluß, während der König schläft. "


def read(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with open_text(path) as stream:
        return stream.read()


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", GERMAN + "北京 😀"),
        ("utf-8-sig", GERMAN),
        ("utf-16", GERMAN + "北京 😀"),
        ("utf-16-le", GERMAN),
        ("latin-1", GERMAN),
        ("latin-1", "El niño comió mañana en la habitación."),
        ("cp1252", "“Curly quotes” — and a dash… café, £20"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy."),
        ("cp1251", "Москва является столицей России и крупнейшим городом страны."),
        ("cp1253", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας."),
        ("cp932", "東京は日本の首都です。人口が多いです。"),
        ("gb18030", "北京大学位于北京市海淀区，是中国著名的大学。"),
        ("cp949", "서울은 대한민국의 수도이다. 인구가 많다."),
        ("euc_jp", "港の灯台は白い。"),
        ("iso8859_2", "Šafář bydlí u řeky už šest let. Má také kůň."),
        ("cp866", "Мельница теперь работает; хлеб очень вкусный."),
        ("iso8859_15", "La traversée coûte 6 € pour un bateau de pêche."),
        ("cp1254", "Değirmen şimdi çalışıyor; ekmek çok güzel."),
    ],
)
def test_texts_are_read_in_the_encoding_they_have(tmp_path: Path, encoding: str, text: str) -> None:
    assert read(tmp_path / "a.txt", text.encode(encoding)) == text


def test_an_older_encoding_is_found_behind_much_ascii(tmp_path: Path) -> None:
    text = "Plain text. " * 20_000 + GERMAN
    assert read(tmp_path / "a.txt", text.encode("latin-1")) == text


def test_a_few_damaged_bytes_do_not_change_the_encoding(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", GERMAN.encode() * 3 + b"\xff" + b" end") == GERMAN * 3 + "\ufffd end"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "binary data"),
        (bytes(range(256)) * 100, "binary data"),
        (b"text with\0\0\0\0 many NUL", "binary data"),
        (b"".join(bytes([each, 0]) for each in range(256)) * 9, "binary data"),
        (b"\xff\xfe\x00\x00\xff\xff\xff\xff", "binary data"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(Unreadable) as error:
        open_text(path)
    assert error.value.reason == reason


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        ("Москва".encode("koi8_r"), "KOI8-R", "Москва"),
        ("Zürich".encode(), None, "Zürich"),
        ("Zürich".encode(), "ascii", "Zürich"),
        ("Zürich".encode(), "no such", "Zürich"),
        (b"Zurich", "punycode", "Zurich"),
    ],
)
def test_a_charset_is_believed_where_it_fits(data: bytes, declared: str | None, text: str) -> None:
    assert decoded(data, declared) == text


def test_clean_text_can_be_stored() -> None:
    assert clean("a\r\nb\rc\n\0\ud800d😀") == "a\nb\nc\n\ufffdd😀"
