"""A step whose version is raised runs again over unchanged documents, and whoever changes its results must raise it."""

from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_plan import STEPS, STEPS_OF_A_MODEL, plan_build, source_of
from conspectus.storage.settings import load_settings

from tests.conftest import EXAMPLES
from tests.pipelines.record_results import recorded, results

RECORD = "run `python -m tests.pipelines.record_results`"


def test_whoever_changes_the_results_of_a_step_raises_its_version(tmp_path: Path) -> None:
    before, now = recorded(), results(tmp_path)
    assert list(before) == list(now), f"there are other steps now: {RECORD}"
    for step, result in now.items():
        if result.version != before[step].version:
            break  # what follows is made of its results
        assert result == before[step], (
            f"The step `{step}` has other results than before under the same version, {result.version}. If that is "
            f"intended, raise its version in pipelines/build_plan.py and {RECORD}. If only a new version of a library "
            f"changed the results, {RECORD}: the fingerprint holds it."
        )
    assert before == now, f"the recorded results are those of earlier versions: {RECORD}"


def test_a_raised_version_is_a_reason_to_build_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    pages, index = [EXAMPLES / "films" / "pages"], tmp_path / "index"

    def is_unchanged() -> bool:
        return plan_build(source_of(pages, settings), index, settings).is_unchanged

    build_index(pages, index, settings)
    assert is_unchanged()
    monkeypatch.setitem(STEPS_OF_A_MODEL, "report-by-model", 0)
    assert is_unchanged(), "no model made this index"
    monkeypatch.setitem(STEPS, "report", 0)
    assert not is_unchanged()
    assert not build_index(pages, index, settings).unchanged
    assert is_unchanged()
