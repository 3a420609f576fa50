"""Train a soft graph prompt for a frozen causal language model (G-Retriever, He et al. 2024), once per seed.

The output folder contains `learned.safetensors` (the parameters of the saved seed), `gretriever.json` (metadata and the
report), and in `seeds/` the result of each seed. Training again with the same folder resumes.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar

from conspectus.pipelines.evaluation.graphqa.questions import GraphQa, whole
from conspectus.pipelines.evaluation.graphqa.read import is_suite, read_graphqa, read_retrieved
from conspectus.pipelines.evaluation.suites import SuiteQuestion
from conspectus.pipelines.train.gretriever.plan import STATE, SeedRun, SoftPromptPlan, SoftPromptTraining, Tell
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.methods.gretriever.soft.checkpoint import LEARNED, REPORT, PromptMetadata, SoftShape
from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel, need, open_frozen
from conspectus.query.methods.gretriever.soft.given_graph import Cutting, cut
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings, texts_of
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import digest
from conspectus.storage.publishing import write_whole
from conspectus.storage.settings import Settings, TrainGRetrieverSettings
from pydantic import TypeAdapter, ValidationError

_Kind = TypeVar("_Kind", SoftShape, SoftPromptPlan)
"""LoRA's rank and scale, and AdamW's decay, as in G-Retriever's published code."""

BEGUN = "training.json"
_MOST_NAMED = 3


def begin(out: Path, made: PromptMetadata, plan: SoftPromptPlan, data: GraphQa) -> None:
    """Record the training in a folder.

    Raises:
        UsageError: The folder contains another training; names the differences."""
    questions = digest(
        *(
            f"{part} {item.id} {item.graph.to_text()} {item.question} {item.answers}"
            for part in ("training", "validation", "test")
            for item in getattr(data, part)
        )
    )
    now: Any = {"made": asdict(made), "plan": asdict(plan), "data": data.name, "questions": questions}
    file = out / BEGUN
    out.mkdir(parents=True, exist_ok=True)
    if file.is_file():
        told = ", ".join(_changes(_read(file), now))
        if told:
            raise UsageError(f"{out} contains another training ({told}); choose a new folder")
    _write_json(file, now)


def _write_json(file: Path, value: object) -> None:
    write_whole(file, json.dumps(value, indent=2) + "\n")


def _read(file: Path) -> Any:  # noqa: ANN401  (any JSON value may appear in a file)
    try:
        return TypeAdapter(Any).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        told = " ".join(str(error).split())[:200]
        raise UsageError(f"{file} cannot be read: {told}; choose a new folder") from error


def _changes(then: Any, now: Any) -> list[str]:  # noqa: ANN401
    """Return the differences between two values: a few names with old and new value."""
    before, after = dict(_leaves(then)), dict(_leaves(now))
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    told = [f"{name} was {_short(before.get(name))} and is {_short(after.get(name))}" for name in names]
    return told[:_MOST_NAMED] + (["..."] if len(told) > _MOST_NAMED else [])


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield (innermost key, value) for all values that are not objects."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, item in value.items():
        yield from _leaves(item, key)


def _short(value: object) -> str:
    return f"{value!s:.40}"


_RUN = "run.json"
_MOST_TOLD = 20


def train_from_settings(
    suite: Path, model: str, out: Path, settings: Settings, tell: Tell, context: Context | None = None
) -> SoftPromptTraining:
    """Train on the questions of a suite with the settings; see `train_gretriever`.

    Args:
        suite: The questions with their graphs.
        model: The frozen model.
        out: The folder of the result.
        settings: The settings.
        tell: Called with each line of progress.
        context: An index of the suite's graph. If given, the graphs are those that asking it retrieves: linked, filled
            and in their order; otherwise they are cut out of what comes with each question.

    Raises:
        InputError: The suite has no questions about graphs.
        UsageError: There is an index, and the suite is none with a graph of its own, or nothing is to be retrieved.
    """
    chosen = settings.train_gretriever
    need("torch_geometric", *(["peft"] if chosen.lora else []))
    ready = [open_frozen(model)]  # before the slow encoding of the graphs

    def open_model() -> FrozenModel:
        return ready.pop() if ready else open_frozen(model)

    encodings = RememberedEncodings(
        context.embedder if context else open_embedder(settings.embedding, settings.embedding_server),
        out / "cache" / "encodings.sqlite",
    )
    data = graphs_as_asked(suite, context, chosen) if context else _as_given(suite, settings, encodings)
    for failure in data.failures[:_MOST_TOLD]:
        tell(f"lost: {failure.item_id}: {failure.reason}")
    shape, plan = of_settings(SoftShape, chosen), of_settings(SoftPromptPlan, chosen)
    return train_gretriever(data, encodings, open_model, shape, plan, out, tell)


def _as_given(suite: Path, settings: Settings, encodings: RememberedEncodings) -> GraphQa:
    """Return the questions with what is cut out of the graphs that come with them."""
    sought = settings.gretriever
    how = Cutting(sought.top_k_nodes, sought.top_k_edges, sought.edge_cost)
    retrieves = settings.train_gretriever.retrieval
    return read_graphqa(suite, (lambda graph, question: cut(graph, question, encodings, how)) if retrieves else whole)


def graphs_as_asked(suite: Path, context: Context, chosen: TrainGRetrieverSettings) -> GraphQa:
    """Return the questions of a suite with the graphs that asking an index retrieves, from the topics of each."""
    if not is_suite(suite):
        raise UsageError(f"{suite} is no suite with a kg.tsv, whose graph an index could have; leave out --index")
    if not chosen.retrieval:
        raise UsageError("train_gretriever.retrieval is false: nothing is retrieved; leave out --index")

    def retrieve(question: SuiteQuestion) -> TextualGraph:
        return retrieve_subgraph(context, question.question, question.entities or None).subgraph.text

    return read_retrieved(suite, retrieve)


def of_settings(kind: type[_Kind], chosen: TrainGRetrieverSettings) -> _Kind:
    """Return a shape or hyperparameters with what the settings say of them."""
    given = chosen.model_dump()
    return kind(**{name: given[name] for name in kind.__slots__ if name in given})


def train_gretriever(
    data: GraphQa,
    encodings: RememberedEncodings,
    open_model: Callable[[], FrozenModel],
    shape: SoftShape,
    plan: SoftPromptPlan,
    out: Path,
    tell: Tell,
) -> SoftPromptTraining:
    """Train with every seed and save the run with the lowest validation loss in `out`.

    `open_model` loads the frozen model; it is called once per seed.

    Returns:
        The report over all seeds.

    Raises:
        MissingPart: The extra is not installed.
        UsageError: `out` contains a training with other data or settings.
    """
    need("torch_geometric", *(["peft"] if shape.lora else []))
    ready = [open_model()]
    made = PromptMetadata(ready[0].name, ready[0].signature, encodings.name, encodings.width, shape)
    begin(out, made, plan, data)
    encodings.prepare(texts_of(question.graph for question in data.questions))
    runs = []
    for seed in range(plan.seed, plan.seed + plan.seeds):
        folder = out / "seeds" / str(seed)
        run = _done(folder)
        if run is None:
            model = ready.pop() if ready else open_model()  # LoRA changes a model: each seed has its own
            run = _seed(data, encodings, model, shape, plan, seed, folder, tell)
        runs.append(run)
    kept = min(runs, key=lambda run: (run.validation_loss, run.seed))
    report = _report(data, runs, kept)
    beside = out / f".{LEARNED}.new"
    shutil.copyfile(out / "seeds" / str(kept.seed) / LEARNED, beside)
    beside.replace(out / LEARNED)
    _write_json(out / REPORT, {"made": asdict(made), "plan": asdict(plan), **asdict(report)})
    return report


def _done(folder: Path) -> SeedRun | None:
    """Return the result of a seed, None if it is not finished.

    Raises:
        InputError: The result cannot be read."""
    file = folder / _RUN
    if not (file.is_file() and (folder / LEARNED).is_file()):
        return None
    try:
        return TypeAdapter(SeedRun).validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        told = " ".join(str(error).split())[:200]
        raise InputError(f"{file} cannot be read: {told}; remove it to train this seed again") from error


def _seed(
    data: GraphQa,
    encodings: RememberedEncodings,
    model: FrozenModel,
    shape: SoftShape,
    plan: SoftPromptPlan,
    seed: int,
    folder: Path,
    tell: Tell,
) -> SeedRun:
    """Train one seed and return its result; its folder then has the parameters."""
    import torch
    from conspectus.pipelines.train.gretriever.run import SeedTraining
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

    torch.manual_seed(seed)
    prompt = SoftPrompt(model, shape, encodings.width)
    folder.mkdir(parents=True, exist_ok=True)
    run = SeedTraining(data, encodings, plan, seed, folder, tell).run(prompt)
    _write_json(folder / _RUN, asdict(run))
    (folder / STATE).unlink(missing_ok=True)
    return run


def _report(data: GraphQa, runs: list[SeedRun], kept: SeedRun) -> SoftPromptTraining:
    commonest = Counter(data.target(item) for item in data.training).most_common(1)[0][0]
    scores = [run.score for run in runs]
    return SoftPromptTraining(
        metric=data.metric,
        n_training=len(data.training),
        n_validation=len(data.validation),
        n_test=len(data.test),
        left_out=data.left_out,
        failures=data.failures,
        before=data.before,
        after=data.after,
        learned=kept.learned,
        frozen=kept.frozen,
        majority=fmean([data.score(commonest, item) for item in data.test]),
        mean=fmean(scores),
        deviation=stdev(scores) if len(scores) > 1 else 0.0,
        lenient=fmean([run.lenient for run in runs]),
        shuffled=fmean([run.shuffled for run in runs]),
        minutes_per_epoch=fmean([epoch.seconds for run in runs for epoch in run.epochs]) / 60,
        kept=kept.seed,
        runs=tuple(runs),
    )
