"""What training a soft graph prompt came to, as text for people."""

from pathlib import Path

from conspectus.pipelines.train.gretriever.plan import Trained

_HEAD = (
    f"{'seed':>6}{'epochs':>8}{'kept':>6}{'training loss':>15}{'validation loss':>17}{'score':>8}{'lenient':>9}"
    f"{'exchanged':>11}"
)


def trained(report: Trained, out: Path) -> str:
    """Return a line for each seed, what they come to together, and how to ask with it."""
    rows = [
        f"{each.seed:>6}{len(each.epochs):>8}{each.best:>6}{each.epochs[each.best - 1].training_loss:>15.4f}"
        f"{each.validation_loss:>17.4f}{each.score:>8.4f}{each.lenient:>9.4f}{each.shuffled:>11.4f}"
        for each in report.runs
    ]
    return "\n".join(
        [
            f"{report.n_training} questions learned from, {report.n_validation} validated with, "
            f"{report.n_test} held back; {report.left_out} have no graph or no answer, "
            f"{len(report.failures)} cannot be read",
            *_sizes(report),
            f"{report.learned:,} numbers learned, {report.frozen:,} frozen; "
            f"{report.minutes_per_epoch:.2f} minutes an epoch",
            _HEAD,
            *rows,
            f"{report.metric} {report.mean:.4f} ± {report.deviation:.4f} "
            f"({report.lenient:.4f} as the authors of GraphQA count); "
            f"{report.shuffled:.4f} with the graphs of other questions; {report.majority:.4f} for the commonest answer",
            f"seed {report.kept} is kept in {out}; ask with it: --method gretriever --set soft_prompt.folder={out}",
        ]
    )


def _sizes(report: Trained) -> list[str]:
    """Return how large graphs were before and after retrieval; one line where it left them as they were."""
    before, after = report.before, report.after
    rows = [("nodes", before.nodes, after.nodes), ("edges", before.edges, after.edges)]
    rows.append(("tokens", before.tokens, after.tokens))
    if before == after:
        return ["graphs of " + ", ".join(f"{now:,.1f} {name}" for name, _, now in rows) + ", none of them cut"]
    return [
        f"{'a graph has':14}{'before':>12}{'after':>10}{'fewer':>9}",
        *(f"{name:14}{old:>12,.1f}{now:>10,.1f}{1 - now / old:>9.1%}" for name, old, now in rows if old),
    ]
