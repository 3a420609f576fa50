"""What a frozen random model learns from a graph token: G-Retriever's variants on ExplaGraphs.

    python -m benchmarks.soft_prompt EXPLAGRAPHS [--seeds 4] [--variants gretriever,prompt_tuning] [--out FOLDER]

The model is a Llama of one layer with random weights, made on the spot: it knows nothing, so what is above the
commonest answer came through what was learned. One line a variant: accuracy on the questions held back, the same with
the graphs of other questions, and minutes an epoch. Without the encoder, G-Retriever is prompt tuning; without the
text it is GraphToken. Retrieval cuts no graph of ExplaGraphs, so that there is nothing to leave out.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from conspectus.pipelines.evaluation.graphqa.questions import read_graphqa
from conspectus.pipelines.train.gretriever.plan import SoftPromptPlan
from conspectus.pipelines.train.gretriever.train import train_gretriever
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.methods.gretriever.soft.checkpoint import SoftShape
from conspectus.query.methods.gretriever.soft.frozen_model import open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings

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


def main() -> None:
    """Train each variant and print a line for it."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("suite", type=Path)
    given.add_argument("--variants", default=",".join(VARIANTS))
    given.add_argument("--seeds", type=int, default=4)
    given.add_argument("--epochs", type=int, default=5)
    given.add_argument("--learning-rate", type=float, default=2e-3)
    given.add_argument("--batch", type=int, default=16)
    given.add_argument("--out", type=Path, default=Path(tempfile.mkdtemp()))
    chosen = given.parse_args()
    data = read_graphqa(chosen.suite)
    texts = [text for item in data.training for text in (item.graph.to_text(), item.question)]
    model = str(save_llama(chosen.out / "llama", texts))
    encodings = RememberedEncodings(
        open_embedder(EmbeddingSettings(), EmbeddingServerSettings()), chosen.out / "encodings.sqlite"
    )
    plan = SoftPromptPlan(
        learning_rate=chosen.learning_rate, batch=chosen.batch, epochs=chosen.epochs, seeds=chosen.seeds
    )
    print(f"{'variant':18}{'learned':>10}{data.metric:>18}{'exchanged':>11}{'commonest':>11}{'min/epoch':>11}")
    for name in chosen.variants.split(","):
        report = train_gretriever(
            data, encodings, lambda: open_frozen(model), VARIANTS[name], plan, chosen.out / name, lambda line: None
        )
        print(
            f"{name:18}{report.learned:>10,}{report.mean:>10.3f} ± {report.deviation:.3f}{report.shuffled:>11.3f}"
            f"{report.majority:>11.3f}{report.minutes_per_epoch:>11.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
