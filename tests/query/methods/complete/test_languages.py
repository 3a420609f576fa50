"""Questions about tables and texts in ten languages beside those of `test_complete.py`: read, and answered in each."""

from collections.abc import Callable

import pytest
from conspectus.query.context import Context
from conspectus.query.methods.complete.question_words import LANGUAGES, phrases

from tests.query.methods.complete.test_complete import ask, indexed

ROWS = "{0},{2},25,12,2024-04-03\n{0},{3},7,8,2024-04-25\n{1},{2},30,15,2024-05-02\n{1},{3},12,9,2024-05-09\n"
TABLES = {  # columns, two stations and two kinds of bicycles; three notes, of which two have a key
    "it": ("Stazione,Bicicletta,Noleggi,Tariffa,Data", "Lido,Cava,tandem,cargo",
           "La chiave è nel cassetto. Nora ha perso la chiave. Il mercato apre alle otto."),
    "pt": ("Estação,Bicicleta,Alugueres,Preço,Data", "Foz,Pedreira,tandem,cargueira",
           "A chave está na gaveta. A Nora perdeu a chave. O mercado abre às oito."),
    "nl": ("Station,Fiets,Verhuringen,Prijs,Datum", "Strand,Groeve,tandem,bakfiets",
           "De sleutel ligt in de la. Nora is de sleutel kwijt. De markt begint om acht uur."),
    "pl": ("Stacja,Rower,Wypożyczenia,Cena,Data", "Plaża,Kopalnia,tandem,towarowy",
           "Klucz leży w szufladzie. Nora zgubiła klucz. Targ zaczyna się o ósmej."),
    "ru": ("Станция,Велосипед,Аренды,Цена,Дата", "Лидо,Карьер,тандем,грузовой",
           "Ключ лежит в ящике. Нора потеряла ключ. Базар открывается в восемь."),
    "tr": ("İstasyon,Bisiklet,Kiralama,Ücret,Tarih", "Plaj,Ocakbaşı,tandem,yük",
           "Anahtar çekmecede. Nora anahtarı kaybetti. Pazar sekizde açılıyor."),
    "zh": ("车站,车型,租借次数,单价,日期", "丽都,采石场,双人车,货运车", "钥匙在抽屉里。诺拉丢了钥匙。集市八点开门。"),
    "ja": ("駅,車種,貸出回数,料金,日付", "リド,砕石場,タンデム,荷物用",
           "鍵は引き出しにあります。ノラは鍵をなくしました。市場は八時に開きます。"),
    "ko": ("역,차종,대여 횟수,요금,날짜", "리도,채석장,탠덤,화물용",
           "열쇠는 서랍에 있다. 노라는 열쇠를 잃어버렸다. 시장은 여덟 시에 연다."),
    "ar": ("المحطة,الدراجة,التأجيرات,السعر,التاريخ", "الشاطئ,المحجر,ترادفية,شحن",
           "المفتاح في الدرج. فقدت نورا المفتاح. يفتح السوق في الثامنة."),
}  # fmt: skip


@pytest.fixture(scope="module")
def in_language(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Context]:
    """Return the context of the index of a language, which is made once."""
    made: dict[str, Context] = {}

    def of(language: str) -> Context:
        if language not in made:
            folder = tmp_path_factory.mktemp(language)
            header, names, notes = TABLES[language]
            (folder / "rentals.csv").write_text(f"{header}\n{ROWS.format(*names.split(','))}", "utf-8")
            for at, note in enumerate(notes.replace("。", "。 ").split(". " if ". " in notes else "。 ")):
                if note:
                    (folder / f"{at}.txt").write_text(note, "utf-8")
            made[language] = indexed(folder, *folder.iterdir())
        return made[language]

    return of


@pytest.mark.parametrize(
    ("language", "question", "short", "said"),
    [
        ("it", "Quante righe hanno più di 10 noleggi?", "3", "righe: 3 (3 di 4 righe; Noleggi > 10)"),
        ("it", "Noleggi totali per stazione", "", "Totale di Noleggi / Stazione (4 di 4 righe):\n- Lido: 32"),
        ("it", "Qual è la tariffa più alta?", "15", "Valore massimo di Tariffa: 15"),
        ("it", "Quanti monopattini al Lido nell'aprile 2024?", None, "non lo so"),
        ("it", "Quanti documenti parlano della chiave?", "2", "2 di 4 documenti"),
        ("pt", "Que estação teve mais alugueres?", "Pedreira", "4 de 4 linhas; max de 2"),
        ("pt", "Liste todas as estações", "", "2 valores diferentes de Estação"),
        ("pt", "Quantos alugueres em maio de 2024?", "42", "Data = maio de 2024"),
        ("pt", "Que documentos falam da chave?", "", "2 de 4 documentos"),
        ("pt", "Que bicicleta é mais cara do que a tandem?", None, "não sei"),
        ("nl", "Welk station heeft de meeste verhuringen?", "Groeve", "Totaal van Verhuringen / Station"),
        ("nl", "rijen voor 10 april 2024", "", "1 van 4 rijen; Datum < 10 april 2024"),
        ("nl", "Wat is de op een na hoogste prijs?", None, "weet ik niet"),
        ("pl", "Ile wypożyczeń było na stacji Plaża?", "32", "2 z 4 wierszy; Stacja = Plaża"),
        ("pl", "Jaka jest średnia cena?", "11", "Średnia: Cena: 11"),
        ("pl", "Ile dokumentów wspomina o kluczu?", "2", "2 z 4 dokumentów"),
        ("pl", "Ile hulajnóg było na stacji Plaża?", None, "nie wiem"),
        ("ru", "На какой станции больше всего аренд?", "Карьер", "Сумма: Аренды / Станция"),
        ("ru", "строки после 10 апреля 2024 года", "", "3 из 4 строк; Дата > 10 апреля 2024"),
        ("ru", "Сколько стоит самый дорогой велосипед?", "15", "Наибольшее значение: Цена"),
        ("ru", "В скольких документах упоминается ключ?", "2", "2 из 4 документов"),
        ("tr", "Plaj'da 10'dan fazla kiralama olan kaç satır var?", "1", "4 satır içinden 1"),
        ("tr", "İstasyon başına toplam kiralama", "", "Kiralama toplamı / İstasyon"),
        ("tr", "Kiralama 10 ile 26 arasında olan satırlar", "", "4 satır içinden 2; Kiralama = 10 – 26"),
        ("tr", "İkinci en yüksek ücret nedir?", None, "bilmiyorum"),
        ("zh", "租借次数在12以上的有几行？", "3", "4 行中的 3; 租借次数 ≥ 12"),
        ("zh", "每个车站的总租借次数", "", "租借次数总和 / 车站"),
        ("zh", "丽都的租借次数一共是多少？", "32", "车站 = 丽都"),
        ("zh", "有多少个文件提到钥匙？", "2", "4 个文档中的 2"),
        ("zh", "第二高的单价是多少？", None, "不知道"),
        ("zh", "上海的租借次数一共是多少？", None, "不知道"),
        ("ja", "貸出回数が最も多い駅はどこですか？", "砕石場", "貸出回数の合計 / 駅"),
        ("ja", "貸出回数が12以上の行は何行ありますか？", "3", "4 行中 3; 貸出回数 ≥ 12"),
        ("ja", "リド以外の貸出回数の合計は？", "42", "駅 ≠ リド"),
        ("ja", "鍵について書かれている文書はいくつありますか？", "2", "4 件の文書中 2"),
        ("ja", "二番目に高い料金は？", None, "分かりません"),
        ("ko", "역별 대여 횟수 합계", "", "대여 횟수 합계 / 역 (행 4개 중 4개):\n- 리도: 32"),
        ("ko", "대여 횟수가 12 이상인 행은 몇 개인가요?", "3", "대여 횟수 ≥ 12"),
        ("ko", "리도를 제외한 대여 횟수 합계는?", "42", "역 ≠ 리도"),
        ("ko", "열쇠를 언급한 문서는 몇 개입니까?", "2", "문서 4개 중 2개; “열쇠”"),
        ("ar", "ما مجموع التأجيرات في مايو 2024؟", "42", "مجموع التأجيرات"),
        ("ar", "ما هو أعلى سعر؟", "15", "أعلى قيمة: السعر"),
        ("ar", "ما الدراجة الأغلى من ترادفية؟", None, "لا أعرف"),
        ("ar", "كم عدد الصفوف التي فيها التأجيرات أكثر من 10؟", "3", "الصفوف: 3 من 4"),
        ("ar", "كم عدد الدراجات النارية في الشاطئ؟", None, "لا أعرف"),
    ],
)
def test_questions_are_read_and_answered_in_their_language(
    language: str, question: str, short: str | None, said: str, in_language: Callable[[str], Context]
) -> None:
    answer = ask(in_language(language), question)
    assert said.casefold() in answer.text.casefold()
    assert (answer.known, answer.span) == ((True, short) if short is not None else (False, ""))


def test_every_language_has_words_for_each_operation_and_set() -> None:
    operations = {"count", "sum", "mean", "most", "least", "highest", "lowest", "list", "which", "per", "not", "month"}
    tests = {"above", "at least", "below", "at most", "between", "after", "since", "before", "exactly"}
    sets = {"rows", "documents", "messages", "headings", "columns"}
    for language in LANGUAGES:
        roles = frozenset().union(*phrases(language).values())
        assert operations | tests | sets | {"mention"} <= roles, language
