"""What training came to, as text for people."""

from pathlib import Path

from conspectus.pipelines.train.graph2text import Quality, Trained

_HEAD = f"{'':24}{'texts':>7}{'ROUGE-1':>9}{'ROUGE-2':>9}{'ROUGE-L':>9}{'factual':>9}{'relational':>12}{'words':>7}"


def trained(report: Trained, out: Path) -> str:
    """Return a table of how good the texts are, and where the model is."""
    rows = [
        _row("before training", report.before),
        _row(f"epoch {report.best}, kept", report.validation),
        *(_row(f"  of {size} triple{'' if size == '1' else 's'}", each) for size, each in report.by_size),
        _row("written by people", report.written),
    ]
    return "\n".join(
        [
            f"{report.n_training} pairs learned from, {report.n_validation} held out",
            _HEAD,
            *rows,
            "factual, relational: share of texts that say a name or number that their triples lack, "
            "or put things together that no triple joins",
            f"the model is in {out}; use it with fasttog.text=g2t and fasttog.graph2text={out}",
        ]
    )


def _row(name: str, each: Quality) -> str:
    return (
        f"{name:24}{each.n:>7}{each.rouge1:>9.3f}{each.rouge2:>9.3f}{each.rouge_l:>9.3f}{each.factual:>9.3f}"
        f"{each.relational:>12.3f}{each.tokens:>7.1f}"
    )
