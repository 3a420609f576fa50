"""Which judgement a build's settings ask for."""

from pathlib import Path

from conspectus.pipelines.backends.backend import Judgement
from conspectus.pipelines.backends.nlp import OfflineJudgement
from conspectus.pipelines.runner import Progress, Runner
from conspectus.pipelines.steps.communities import Earlier
from conspectus.storage.memo import Memo
from conspectus.storage.settings import Settings


def judgement_of(
    settings: Settings, memo: Memo, run: Runner, progress: Progress, earlier: Earlier | None, *, retry_failed: bool
) -> Judgement:
    """Return the judgement of the settings, for one build; with `retry_failed` what failed is asked again."""
    if settings.extraction.openie:
        from conspectus.pipelines.backends.openie import OpenieFileJudgement

        return OpenieFileJudgement(settings, memo, run, earlier)
    if settings.extracts_with and settings.extraction.method == "openie":
        from conspectus.pipelines.backends.openie import OpenieModelJudgement

        return OpenieModelJudgement(settings, memo, run, progress, retry=retry_failed, earlier=earlier)
    if settings.extracts_with:
        from conspectus.pipelines.backends.llm import ModelJudgement

        return ModelJudgement(settings, memo, progress, retry=retry_failed, earlier=earlier)
    return OfflineJudgement(settings, memo, run, earlier)


def extractor_of(settings: Settings) -> str:
    """Return the name of what extracted: a model, a pipeline, or both a file and the pipeline for what it lacks."""
    if settings.extraction.openie:
        return f"{Path(settings.extraction.openie).name}, {settings.extraction.pipeline}"
    return settings.extracts_with or settings.extraction.pipeline
