"""Add documents to an index, remove documents, or retry failures, without the original files.

Each of these builds the index from the texts that the version in force contains.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.index import build_from
from conspectus.pipelines.plan import BuildSource, check_built_here
from conspectus.pipelines.readers.discover import STAGE
from conspectus.pipelines.runner import Progress, Runner, no_progress
from conspectus.pipelines.steps.documents import Texts, once_each, read_documents
from conspectus.storage.errors import IndexNotFound, UsageError, did_you_mean
from conspectus.storage.index import Index
from conspectus.storage.manifest import Manifest, current_version
from conspectus.storage.records import Document, Failure
from conspectus.storage.settings import Settings
from conspectus.storage.settings.root import for_models_only

_MOST_NAMED = 3


def add_documents(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
    texts: Texts = (),
) -> BuildReport:
    """Add documents to an index, in the place of those with the same ids; the result is that of indexing all together.

    Args:
        inputs: Files, folders, globs and URLs; documents are named as `conspectus index` names them.
        index: The folder of the index.
        settings: The settings that the index was made with.
        run: What runs the shards of a step; by default this process.
        progress: Called as work goes on.
        texts: Documents from memory.

    Returns:
        What was done, with all failures of the new version.

    Raises:
        IndexNotFound: There is no index.
        UsageError: The index was made with other settings, or imported from another program.
        InputError, NeedsModel, IndexBusy, BudgetReached: As for `build_index`.
    """

    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        held, lost = held_documents(index, current, settings)
        new, failures = read_documents(inputs, settings.input, progress, texts)
        of_id = {document.id: document for document in (*held, *new)}
        read_now = {*(item.uri for item in new), *(failure.item_id for failure in failures)}
        failures += [failure for failure in lost if not any(_lies_in(uri, failure.item_id) for uri in read_now)]
        return once_each(of_id.values()), sorted(failures, key=lambda failure: (failure.item_id, failure.reason))

    current_version(index)  # before a folder is made for what is no index
    return build_from(BuildSource(read), index, settings, run, progress)


def remove_documents(
    names: Sequence[str],
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Remove documents from an index.

    Args:
        names: For each document its id, its uri, or the uri of the file or folder that contains it.
        index: The folder of the index.
        settings: The settings that the index was made with.
        run: What runs the shards of a step; by default this process.
        progress: Called as work goes on.

    Returns:
        What was done, with all failures of the new version.

    Raises:
        UsageError: A name names nothing (the message says the nearest known name), no document would be left, or as
            for `add_documents`.
        IndexNotFound, IndexBusy: As for `add_documents`.
    """

    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        held, lost = held_documents(index, current, settings)
        named: set[str] = set()
        forgotten: set[str] = set()
        for name in names:
            those = {document.id for document in held if name == document.id or _lies_in(document.uri, name)}
            unread = {failure.item_id for failure in lost if _lies_in(failure.item_id, name)}
            if not those and not unread:
                raise UsageError(f"no document of {index} is called {name!r}{_nearest(name, held)}")
            named |= those
            forgotten |= unread
        kept = [document for document in held if document.id not in named]
        if not kept:
            raise UsageError(f"this would leave no document; to be rid of the index delete the folder {index}")
        return kept, [failure for failure in lost if failure.item_id not in forgotten]

    current_version(index)
    return build_from(BuildSource(read), index, settings, run, progress)


def retry_failed(
    index: Path, settings: Settings, run: Runner | None = None, progress: Progress = no_progress
) -> BuildReport:
    """Try again what had failed in an index, and ask the model again for replies that lost something.

    What could not be read is not tried: that needs the files, as `build_index(..., retry_failed=True)` has them.

    Args:
        index: The folder of the index.
        settings: The settings that the index was made with.
        run: What runs the shards of a step; by default this process.
        progress: Called as work goes on.

    Returns:
        What was done; `retried` says what came of asking again.

    Raises:
        IndexNotFound, UsageError, IndexBusy, BudgetReached: As for `add_documents`.
    """

    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return held_documents(index, current, settings)

    current_version(index)
    return build_from(BuildSource(read), index, settings, run, progress, retry_failed=True)


def held_documents(index: Path, current: Manifest | None, settings: Settings) -> tuple[list[Document], list[Failure]]:
    """Return the documents of the current version, and what could not be read of its input."""
    if current is None:
        raise IndexNotFound(f"no index at {index} to change; build one with: conspectus index INPUT")
    check_built_here(index, current)
    _check_settings(index, current.settings, settings.of_the_index())
    opened = Index(index, current)
    lost = [failure for failure in opened.rows(Failure) if failure.stage == STAGE]
    return list(opened.rows(Document)), lost


def _check_settings(index: Path, made_with: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse settings that would make another index of the documents that stay.

    Where no model was asked and none is, settings for one make no difference: their defaults may have changed since.
    """
    unread = {("communities", "update")}
    if "llm" not in made_with and "llm" not in now:
        unread |= for_models_only()
    other = [
        f"{section}.{key} was {made_with[section][key]!r} and is {value!r}"
        for section, keys in now.items()
        for key, value in keys.items()
        if key in made_with.get(section, {}) and made_with[section][key] != value and (section, key) not in unread
    ]
    if "llm" in now and "llm" not in made_with:
        other.append(f"no language model was asked, and llm.model is {now['llm']['model']!r}")
    if "llm" in made_with and "llm" not in now:
        other.append(f"llm.model was {made_with['llm']['model']!r}, and none is asked now")
    if other:
        shown = "; ".join(other[:_MOST_NAMED]) + ("; ..." if len(other) > _MOST_NAMED else "")
        raise UsageError(
            f"{index} was made with other settings ({shown}): give the same, or make it anew with: "
            f"conspectus index INPUT"
        )


def _lies_in(uri: str, name: str) -> bool:
    return uri == name or uri.startswith((f"{name.rstrip('/')}/", f"{name}#"))


def _nearest(name: str, held: Sequence[Document]) -> str:
    known = [text for document in held for text in (document.id, document.uri)]
    return did_you_mean(name, known)
