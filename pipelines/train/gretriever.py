"""Training a soft graph prompt over a frozen causal model (G-Retriever, He et al. 2024), once for each seed.

A folder holds `learned.safetensors` (the kept seed's parts), `gretriever.json` (what they belong to, and the report),
and below `seeds/` what each seed came to. Started again on the same folder, a training goes on where it was stopped.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter

from pipelines.evaluation.graphqa import GraphQa, read_graphqa, whole
from pipelines.train.gretriever_plan import Plan, SeedRun, Tell, Trained, deviation, mean
from prompts.embedder import open_embedder
from query.subgraph.cutting import Cutting, cut
from query.subgraph.frozen_model import FrozenModel, open_frozen
from query.subgraph.graph_encodings import RememberedEncodings, texts_of
from query.subgraph.gretriever_extra import need
from query.subgraph.soft_checkpoint import LEARNED, REPORT, Made, as_rows
from query.subgraph.soft_shape import SoftShape
from storage.errors import UsageError
from storage.hashing import digest
from storage.settings import Settings, TrainGRetrieverSettings

_BEGUN, _RUN = "training.json", "run.json"


def train_from_settings(suite: Path, model: str, out: Path, settings: Settings, tell: Tell) -> Trained:
    """Train on the questions of a suite over a model, by the settings; see `train_gretriever`.

    InputError where the suite is no set of questions about graphs.
    """
    chosen = settings.train_gretriever
    need("torch_geometric", *(["peft"] if chosen.lora else []))
    ready = [open_frozen(model, chosen.precision)]  # before the graphs are encoded, which takes long

    def open_model() -> FrozenModel:
        return ready.pop() if ready else open_frozen(model, chosen.precision)

    encodings = RememberedEncodings(
        open_embedder(settings.embedding, settings.embedding_server), out / "cache" / "encodings.sqlite"
    )
    sought = settings.gretriever
    how = Cutting(sought.top_k_nodes, sought.top_k_edges, sought.edge_cost, sought.solver)
    data = read_graphqa(
        suite, (lambda graph, question: cut(graph, question, encodings, how)) if chosen.retrieval else whole
    )
    return train_gretriever(data, encodings, open_model, shape_of(chosen), plan_of(chosen), out, tell)


def shape_of(chosen: TrainGRetrieverSettings) -> SoftShape:
    """Return the shape that the settings name."""
    return SoftShape(
        encoder=chosen.encoder,
        layers=chosen.layers,
        heads=chosen.heads,
        width=chosen.width,
        dropout=chosen.dropout,
        projector=chosen.projector,
        soft_tokens=chosen.soft_tokens,
        text=chosen.text,
        lora=chosen.lora,
        lora_rank=chosen.lora_rank,
        lora_alpha=chosen.lora_alpha,
        lora_dropout=chosen.lora_dropout,
        text_tokens=chosen.text_tokens,
        answer_tokens=chosen.answer_tokens,
    )


def plan_of(chosen: TrainGRetrieverSettings) -> Plan:
    """Return the plan that the settings name."""
    return Plan(
        learning_rate=chosen.learning_rate,
        weight_decay=chosen.weight_decay,
        warm_up=chosen.warm_up,
        epochs=chosen.epochs,
        patience=chosen.patience,
        batch=chosen.batch,
        seed=chosen.seed,
        seeds=chosen.seeds,
    )


def train_gretriever(
    data: GraphQa,
    encodings: RememberedEncodings,
    open_model: Callable[[], FrozenModel],
    shape: SoftShape,
    plan: Plan,
    out: Path,
    tell: Tell,
) -> Trained:
    """Train with every seed, keep in `out` the one of the least validation loss, and return the report.

    `open_model` loads the frozen model, for each seed anew. MissingPart where the extra is not installed, UsageError
    where `out` holds a training of something else.
    """
    need("torch_geometric", *(["peft"] if shape.lora else []))
    runs = []
    learned = frozen = 0
    made = None
    for seed in range(plan.seed, plan.seed + plan.seeds):
        model = open_model()
        made = Made(model.name, model.signature, encodings.name, encodings.width, shape)
        _begin(out, made, plan, data)
        encodings.prepare(texts_of(each.graph for each in data.questions))
        run, learned, frozen = _seed(data, encodings, model, shape, plan, seed, out / "seeds" / str(seed), tell)
        runs.append(run)
    assert made is not None, "there is at least one seed"
    kept = min(runs, key=lambda each: (each.validation_loss, each.seed))
    report = _report(data, plan, runs, kept, learned, frozen)
    shutil.copyfile(out / "seeds" / str(kept.seed) / LEARNED, out / LEARNED)
    held = {"made": as_rows(made), "plan": asdict(plan), **asdict(report)}
    (out / REPORT).write_text(json.dumps(held, indent=2) + "\n", "utf-8")
    return report


def _seed(
    data: GraphQa,
    encodings: RememberedEncodings,
    model: FrozenModel,
    shape: SoftShape,
    plan: Plan,
    seed: int,
    folder: Path,
    tell: Tell,
) -> tuple[SeedRun, int, int]:
    """Return what a seed came to, and the numbers of parameters that learn and that do not."""
    import torch

    from pipelines.train.gretriever_run import SeedTraining
    from query.subgraph.soft_prompt import SoftPrompt

    torch.manual_seed(seed)
    prompt = SoftPrompt(model, shape, encodings.width)
    learned = sum(each.numel() for each in prompt.learned().values())
    frozen = sum(each.numel() for each in prompt.model.parameters() if not each.requires_grad)
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / _RUN
    if done.is_file():
        return TypeAdapter(SeedRun).validate_json(done.read_bytes()), learned, frozen
    tell(f"seed {seed}: {learned:,} numbers learn, {frozen:,} do not, on {prompt.device}")
    run = SeedTraining(data, encodings, plan, seed, folder, tell).run(prompt)
    done.write_text(json.dumps(asdict(run)), "utf-8")
    return run, learned, frozen


def _begin(out: Path, made: Made, plan: Plan, data: GraphQa) -> None:
    """Write down what is trained here; UsageError where it was something else before."""
    questions = digest(
        *(
            f"{part} {each.id} {each.graph.to_text()} {each.question} {each.answers}"
            for part in ("training", "validation", "test")
            for each in getattr(data, part)
        )
    )
    begun = json.dumps(
        {"made": as_rows(made), "plan": asdict(plan), "data": data.name, "questions": questions}, indent=2
    )
    file = out / _BEGUN
    if file.is_file() and file.read_text("utf-8") != begun:
        raise UsageError(f"{out} holds a training with other settings, questions or model: name a folder that is new")
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(begun, "utf-8")


def _report(data: GraphQa, plan: Plan, runs: list[SeedRun], kept: SeedRun, learned: int, frozen: int) -> Trained:
    commonest = Counter(data.target(each) for each in data.training).most_common(1)[0][0]
    scores = [each.score for each in runs]
    everything = data.questions
    return Trained(
        metric=data.metric,
        n_training=len(data.training),
        n_validation=len(data.validation),
        n_test=len(data.test),
        nodes=mean([float(len(each.graph.nodes)) for each in everything]),
        nodes_before=data.nodes_before,
        edges=mean([float(len(each.graph.edges)) for each in everything]),
        edges_before=data.edges_before,
        learned=learned,
        frozen=frozen,
        majority=mean([data.score(commonest, each) for each in data.test]),
        mean=mean(scores),
        deviation=deviation(scores),
        shuffled=mean([each.shuffled for each in runs]),
        minutes_per_epoch=mean([epoch.seconds for each in runs for epoch in each.epochs]) / 60,
        kept=kept.seed,
        runs=tuple(runs),
    )
