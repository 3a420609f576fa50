"""How much a frozen random model learns from a graph token: G-Retriever's variants on a set of questions with graphs.

    python -m benchmarks.soft_prompt SUITE [--seeds 4] [--variants gretriever,prompt_tuning] [--out FOLDER]
        [--index FOLDER [--retrieval default,paper]] [--words 600] [--answer-tokens 1]

The model is a Llama of one layer with random weights: it knows nothing, so any accuracy above the most frequent
answer comes from training. One line per variant: accuracy or Hit@1 on the held-out questions, the same with
the graphs of other questions, and minutes per epoch. Without the encoder, G-Retriever is prompt tuning; without the
text, it is GraphToken. Retrieval returns every graph of ExplaGraphs unchanged, so there is no variant without it.

With --index, an index of the suite's kg.tsv, each question has the subgraph that asking the index retrieves, by our
settings and by the paper's (5 edge texts, nothing filled); the lines above each table say how many of these subgraphs
have an accepted answer among their nodes.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from conspectus.pipelines.evaluation.graphqa.questions import GraphQa
from conspectus.pipelines.evaluation.graphqa.read import read_graphqa
from conspectus.pipelines.evaluation.metrics import name_key
from conspectus.pipelines.train.gretriever.plan import SoftPromptPlan
from conspectus.pipelines.train.gretriever.train import graphs_as_asked, train_gretriever
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.soft.checkpoint import SoftShape
from conspectus.query.methods.gretriever.soft.frozen_model import open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings, load_settings

from tests.tiny_llama import save_llama

BASE = SoftShape(layers=2, width=128, answer_tokens=1)
VARIANTS = {
    "gretriever": BASE,
    "gat": replace(BASE, encoder="gat"),
    "gcn": replace(BASE, encoder="gcn"),
    "no_projector": replace(BASE, projector=False),
    "graphtoken": replace(BASE, text=False),
    "prompt_tuning": replace(BASE, encoder="none"),
    "lora": replace(BASE, encoder="none", soft_tokens=0, lora=True),
    "gretriever_lora": replace(BASE, lora=True),
}


def read(chosen: argparse.Namespace) -> Iterator[tuple[str, GraphQa]]:
    """Yield the set of questions; with an index, once for each way of retrieval, with what it retrieves."""
    if chosen.index is None:
        yield "given", read_graphqa(chosen.suite)
        return
    for name in chosen.retrieval.split(","):
        papers = {"top_k_edges": 5, "fill": False} if name == "paper" else {}
        settings = load_settings(overrides={"gretriever": papers})
        context = Context(StoredIndex.open(chosen.index), settings)
        yield name, graphs_as_asked(chosen.suite, context, settings.train_gretriever)


def described(name: str, data: GraphQa) -> str:
    """Return the sizes of the graphs, and how many have an answer among their nodes."""
    held = [
        bool({name_key(node) for node in item.graph.nodes} & set(map(name_key, item.answers)))
        for item in data.questions
    ]
    return (
        f"{name}: {len(data.training)} questions to train, {len(data.validation)} to validate, {len(data.test)} to "
        f"test; {sum(held) / len(held):.3f} have an answer among the nodes; a graph has {data.after.nodes:.1f} nodes, "
        f"{data.after.edges:.1f} edges, {data.after.tokens:.0f} tokens"
    )


def main() -> None:
    """Train each variant and print one line for it."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("suite", type=Path)
    given.add_argument("--index", type=Path)
    given.add_argument("--retrieval", default="default,paper")
    given.add_argument("--variants", default=",".join(VARIANTS))
    given.add_argument("--seeds", type=int, default=4)
    given.add_argument("--epochs", type=int, default=5)
    given.add_argument("--learning-rate", type=float, default=2e-3)
    given.add_argument("--batch", type=int, default=16)
    given.add_argument("--words", type=int, default=600)
    given.add_argument("--answer-tokens", type=int, default=1)
    given.add_argument("--out", type=Path, default=Path(tempfile.mkdtemp()))
    chosen = given.parse_args()
    encodings = RememberedEncodings(
        open_embedder(EmbeddingSettings(), EmbeddingServerSettings()), chosen.out / "encodings.sqlite"
    )
    plan = SoftPromptPlan(
        learning_rate=chosen.learning_rate, batch=chosen.batch, epochs=chosen.epochs, seeds=chosen.seeds
    )
    model = ""
    for retrieval, data in read(chosen):
        if not model:
            answers = [data.target(item) for item in data.training]
            texts = [text for item in data.training for text in (item.graph.to_text(), item.question)]
            model = str(save_llama(chosen.out / "llama", [*texts, *answers], chosen.words))
        print(described(retrieval, data))
        print(f"{'variant':18}{'learned':>10}{data.metric:>18}{'exchanged':>11}{'commonest':>11}{'min/epoch':>11}")
        for name in chosen.variants.split(","):
            report = train_gretriever(
                data,
                encodings,
                partial(open_frozen, model),
                replace(VARIANTS[name], answer_tokens=chosen.answer_tokens),
                plan,
                chosen.out / retrieval / name,
                lambda line: None,
            )
            print(
                f"{name:18}{report.learned:>10,}{report.mean:>10.3f} ± {report.deviation:.3f}{report.shuffled:>11.3f}"
                f"{report.majority:>11.3f}{report.minutes_per_epoch:>11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
