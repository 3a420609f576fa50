"""Add documents to an index, remove documents, or retry failures, without the original files.

Each of these builds the index from the texts that the current version contains.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_index import build_from
from conspectus.pipelines.build_plan import BuildSource, check_built_here
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.readers.remote import STAGE
from conspectus.pipelines.runner import Progress, Runner, no_progress
from conspectus.pipelines.steps.documents import Texts, lies_in, once_each, read_documents
from conspectus.storage.errors import UsageError, did_you_mean
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest, current_version, read_manifest
from conspectus.storage.records import Document, Failure
from conspectus.storage.settings import Settings
from conspectus.storage.settings.root import for_models_only

_MOST_NAMED = 3


def change_documents(
    inputs: Sequence[str | Path],
    names: Sequence[str],
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
    *,
    texts: Texts = (),
    retry_failed: bool = False,
) -> BuildReport:
    """Remove and add documents of an index in one build; the result is that of indexing what it then holds.

    Args:
        inputs: What to add: files, folders, globs and URLs, named as `conspectus index` names them. Documents with the
            same ids are replaced.
        names: What to remove: ids and uris of documents, and uris of files and folders that contain them. It is removed
            before anything is added.
        index: The folder of the index.
        settings: The settings that the index was made with.
        run: Runs the shards of a step; by default in this process.
        progress: Called as work advances.
        texts: Documents from memory, which are added too.
        retry_failed: Also retry failures, except of reading, which takes the files.

    Returns:
        The report of the build, with all failures of the new version.

    Raises:
        UsageError: A name matches nothing (the message suggests the nearest known name), no document would be left, or
            the index was made with other settings, or imported from another program.
        IndexNotFound: There is no index.
        InputError, NeedsModel, IndexBusy, BudgetReached: As for `build_index`.
    """
    source = changed_source(inputs, names, index, settings, progress, texts)
    return build_from(source, index, settings, run, progress, retry_failed=retry_failed)


def changed_source(
    inputs: Sequence[str | Path],
    names: Sequence[str],
    index: Path,
    settings: Settings,
    progress: Progress = no_progress,
    texts: Texts = (),
) -> BuildSource:
    """Return the documents of an index without those of `names` and with those of `inputs`, as a source to build from.

    The arguments and errors are those of `change_documents`.
    """

    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        held, lost = _without(names, index, *held_documents(index, current, settings))
        if inputs or texts:
            new, failures = read_documents(inputs, settings.input, progress, texts)
            held = list(once_each(iter({document.id: document for document in (*held, *new)}.values())))
            read_now = {*(item.uri for item in new), *(failure.item_id for failure in failures)}
            lost = [failure for failure in lost if not any(lies_in(uri, failure.item_id) for uri in read_now)]
            lost = sorted([*failures, *lost], key=lambda failure: (failure.item_id, failure.reason))
        if not held:
            raise UsageError(f"this would leave no document; to remove the index, delete the folder {index}")
        return held, lost

    current_version(index)  # raises before a folder is made for a missing index
    return BuildSource(read)


def held_documents(index: Path, current: Manifest | None, settings: Settings) -> tuple[list[Document], list[Failure]]:
    """Return the documents of the current version, and the failures of its input."""
    if current is None:
        current = read_manifest(index, current_version(index))  # raises, and says why there is none
    check_built_here(index, current)
    _check_settings(index, current.settings, settings.of_the_index())
    opened = StoredIndex(index, current)
    lost = [failure for failure in opened.rows(Failure) if failure.stage == STAGE]
    return list(opened.rows(Document)), lost


def _check_settings(index: Path, made_with: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse settings that would change the index of the remaining documents.

    If no model was used and none is configured, model settings are ignored: their defaults may have changed since. The
    embedding model stays if it may be any.
    """
    unread = {("communities", "update")}
    if now["embedding"]["model"] == "auto":
        unread.add(("embedding", "model"))
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
            f"{index} was built with other settings ({shown}): use the same, or rebuild it with: conspectus index INPUT"
        )


def _without(
    names: Sequence[str], index: Path, held: list[Document], lost: list[Failure]
) -> tuple[list[Document], list[Failure]]:
    """Return the documents and failures that no name means; UsageError for a name that means none."""
    named: set[str] = set()
    forgotten: set[str] = set()
    for name in names:
        those = {document.id for document in held if name == document.id or lies_in(document.uri, name)}
        unread = {failure.item_id for failure in lost if lies_in(failure.item_id, name)}
        if not those and not unread:
            raise UsageError(f"no document of {index} is called {name!r}{_nearest(name, held)}")
        named |= those
        forgotten |= unread
    return (
        [document for document in held if document.id not in named],
        [failure for failure in lost if failure.item_id not in forgotten],
    )


def _nearest(name: str, held: Sequence[Document]) -> str:
    known = [text for document in held for text in (document.id, document.uri)]
    return did_you_mean(name, known)
