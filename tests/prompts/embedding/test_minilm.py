import shutil
from pathlib import Path

import pytest
from conspectus.prompts.embedding.local import PACKAGED_MODEL, find_model
from conspectus.prompts.embedding.minilm import WEIGHTS, load_minilm
from conspectus.storage.errors import MissingPart

FOLDER = find_model(PACKAGED_MODEL)


@pytest.mark.parametrize("damaged", [WEIGHTS, "config.json", "tokenizer.json"])
def test_a_damaged_package_says_so(tmp_path: Path, damaged: str) -> None:
    for name in ("config.json", "sentence_bert_config.json", "tokenizer.json", WEIGHTS):
        if name == damaged:
            (tmp_path / name).write_bytes((FOLDER / name).read_bytes()[:200])
        else:
            shutil.copy(FOLDER / name, tmp_path / name)
    with pytest.raises(MissingPart, match="is damaged, install it again"):
        load_minilm(tmp_path)
