"""Small question sets in the forms that FEVER, Creak and KILT (Zero-Shot RE) are published in, over the films."""

import json
from pathlib import Path

from conspectus.pipelines.evaluation.suites import Suite, read_suite

from tests.query.films import TRIPLES

CREAK = (
    {
        "ex_id": "train_1", "sentence": "Grey Heron was directed by Ada Mirren.", "explanation": "She directed it.",
        "label": "true", "entity": "Grey Heron", "en_wiki_pageid": "1", "entity_mention_loc": [[0, 10]],
    },
    {
        "ex_id": "train_2", "sentence": "Night Ferry was directed by Mary Quill.", "explanation": "She wrote it.",
        "label": "false", "entity": "Night Ferry", "en_wiki_pageid": "2", "entity_mention_loc": [[0, 11]],
    },
)  # fmt: skip
FEVER = (
    {
        "id": 75397, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "Grey Heron was directed by Ada Mirren.",
        "evidence": [[[92206, 104971, "Grey_Heron", 0]]],
    },
    {
        "id": 150448, "verifiable": "VERIFIABLE", "label": "REFUTES", "claim": "Night Ferry was written by Otto Brand.",
        "evidence": [[[92207, 104972, "Night_Ferry", 0]]],
    },
    {
        "id": 1, "verifiable": "NOT VERIFIABLE", "label": "NOT ENOUGH INFO", "claim": "Salt Pans won a prize in 1975.",
        "evidence": [[[92208, None, None, None]]],
    },
)  # fmt: skip
ZERO_SHOT_RE = (
    {
        "id": "2b01", "input": "Grey Heron [SEP] director",
        "output": [{"answer": "Ada Mirren", "provenance": [{"wikipedia_id": "1", "title": "Grey Heron"}]}],
        "meta": {"template_questions": ["Who directed Grey Heron?"], "subj_aliases": [], "sub_surface": ["Grey Heron"]},
    },
    {
        "id": "2b02", "input": "Mary Quill [SEP] place of birth", "output": [{"answer": "Tarn"}],
        "meta": {"template_questions": ["Where was Mary Quill born?", "In which town was Mary Quill born?"]},
    },
)  # fmt: skip


def published(folder: Path, *rows: dict[str, object]) -> Suite:
    """Write a set of these lines beside the graph of films, and read it."""
    folder.mkdir()
    (folder / "kg.tsv").write_text("".join("\t".join(each) + "\n" for each in TRIPLES), "utf-8")
    (folder / "dev.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    return read_suite(folder)
