"""Repeat an evaluation for each value of a setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conspectus.pipelines.evaluation.evaluate import MethodScores, Progress, evaluate
from conspectus.pipelines.evaluation.suites import Suite, Topic
from conspectus.query.context import Context
from conspectus.query.menu import find_method
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import INDEX_SECTIONS, Settings, SettingsSection
from pydantic import ValidationError

_NOT_SWEPT = frozenset({*INDEX_SECTIONS, "build", "embedding_server"})
"""Sections that do not affect answers, or that the index depends on: another value would need another index."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a setting to try, as given; each applies to the key of every section."""

    sections: tuple[str, ...]
    key: str
    values: tuple[str, ...]


def values_of(text: str, methods: Sequence[str] = ()) -> Values:
    """Return the values in `[section.]key=v1,v2`; a key in several sections means those named like the methods.

    UsageError if it is not a setting of asking, or is in several sections and no method decides.

    >>> values_of("ppr.damping=0.3,0.5")
    Values(sections=('ppr',), key='damping', values=('0.3', '0.5'))
    """
    path, equals, listed = text.partition("=")
    section, _, key = path.strip().rpartition(".")
    values = tuple(dict.fromkeys(part.strip() for part in listed.split(",") if part.strip()))
    if not (equals and key and values):
        raise UsageError(f"--sweep takes [section.]key=value,..., not {text!r}")
    found = [name for name in Settings.model_fields if name not in _NOT_SWEPT and key in _keys(name)]
    if section:
        found = [name for name in found if name == section]
    if not found:
        raise UsageError(f"--sweep: {path.strip()} is not a setting that answers depend on")
    if len(found) > 1:
        asked = {find_method(name).section for name in methods}
        meant = [name for name in found if name in asked]
        if not meant:
            several = ", ".join(f"{name}.{key}" for name in found)
            raise UsageError(f"--sweep: {key} is in several sections: {several}")
        found = meant
    return Values(tuple(found), key, values)


def swept_settings(settings: Settings, swept: Values) -> dict[str, Settings]:
    """Return the settings with each value, by the value as given; UsageError for an invalid one."""
    return {
        value: settings.model_copy(
            update={name: _changed(name, getattr(settings, name), swept.key, value) for name in swept.sections}
        )
        for value in swept.values
    }


def _changed(name: str, section: SettingsSection, key: str, value: str) -> SettingsSection:
    try:
        return type(section).model_validate({**section.model_dump(), key: value})
    except ValidationError as error:
        raise UsageError(f"--sweep {name}.{key}: {error.errors()[0]['msg']}: {value}") from error


def evaluate_each(
    suite: Suite,
    context: Context,
    runs: Mapping[str, Settings],
    methods: Sequence[str],
    ks: Sequence[int],
    progress: Progress,
    *,
    answers: bool = False,
    topics: Sequence[Topic] = ("given",),
) -> dict[str, dict[str, MethodScores]]:
    """Return the scores with each of several settings over one open index.

    With several starts of walks, a method that walks has one entry for each: `tog2 (linked)`.
    """
    found: dict[str, dict[str, MethodScores]] = {}
    for value, settings in runs.items():
        scores: dict[str, MethodScores] = {}
        for topic in topics:
            made = evaluate(suite, replace(context, settings=settings), methods, ks, progress, answers, topic)
            scores |= {f"{name} ({topic})" if len(topics) > 1 else name: item for name, item in made.items()}
        found[value] = scores
    return found


def _keys(section: str) -> frozenset[str]:
    kind = Settings.model_fields[section].annotation
    return frozenset(kind.model_fields) if isinstance(kind, type) and issubclass(kind, SettingsSection) else frozenset()
