"""What training a soft graph prompt came to, as text for people."""

from pathlib import Path

from pipelines.train.gretriever_plan import Trained

_HEAD = f"{'seed':>6}{'epochs':>8}{'kept':>6}{'training loss':>15}{'validation loss':>17}{'score':>8}{'exchanged':>11}"


def trained(report: Trained, out: Path) -> str:
    """Return a line for each seed, what they come to together, and how to ask with it."""
    rows = [
        f"{each.seed:>6}{len(each.epochs):>8}{each.best:>6}{each.epochs[each.best - 1].training_loss:>15.4f}"
        f"{each.validation_loss:>17.4f}{each.score:>8.4f}{each.shuffled:>11.4f}"
        for each in report.runs
    ]
    return "\n".join(
        [
            f"{report.n_training} questions learned from, {report.n_validation} validated with, "
            f"{report.n_test} held back; graphs of {report.nodes:.1f} nodes and {report.edges:.1f} edges "
            f"(of {report.nodes_before:.1f} and {report.edges_before:.1f})",
            f"{report.learned:,} numbers learned, {report.frozen:,} frozen; "
            f"{report.minutes_per_epoch:.2f} minutes an epoch",
            _HEAD,
            *rows,
            f"{report.metric} {report.mean:.4f} ± {report.deviation:.4f}; {report.shuffled:.4f} with the graphs of "
            f"other questions; {report.majority:.4f} for the commonest answer",
            f"seed {report.kept} is kept in {out}; ask with it: --method gretriever --set soft_prompt.folder={out}",
        ]
    )
