"""Results of evaluation as tables: methods by metric, sweeps of a setting, a judge's win rates, training."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.render.terminal import aligned_table, count

if TYPE_CHECKING:
    from conspectus.pipelines.train.graph2text import Graph2TextTraining
    from conspectus.pipelines.train.gretriever.plan import SoftPromptTraining

INTERVALS = "95 % bootstrap intervals"
_WHOLE_NUMBERS = {"units", "context_tokens"}


def scores_text(result: Mapping[str, Any]) -> str:
    """Return a table of methods and metrics, each mean with its 95 % interval."""
    by_method: Mapping[str, Any] = result["methods"]
    metrics = _metrics(by_method)
    costs = {"calls": "calls_per_question", "tokens": "tokens_per_question"}
    shown = {
        head: key
        for head, key in costs.items()
        if head not in metrics and any(values[key] for values in by_method.values())
    }
    head = ["method", *metrics, *(f"{name}/question" for name in shown), "s/question", "median s"]
    body = [
        [name, *_cells(values, metrics), *(f"{values[key]:,.1f}" for key in shown.values()), *_seconds(values)]
        for name, values in by_method.items()
    ]
    measured = ", ".join(f"{number} measured for {kind}" for kind, number in result["measured"].items())
    ready = f"index ready after {result['build_seconds']:.1f} s"
    lines = [
        *aligned_table(head, body),
        f"{result['suite']}: {result['questions']} questions, {measured}; {ready}; {INTERVALS}",
        *_by_group(by_method, "by_hops", "hops"),
        *_by_group(by_method, "by_kind", "kind"),
    ]
    for name, values in by_method.items():
        if values["failures"]:
            lines.append(f"{name}: a model gave no answer to {count(values['failures'], 'questions')}")
    return "\n".join(lines)


def sweep_text(result: Mapping[str, Any]) -> str:
    """Return a table of a setting's values, methods and metrics, each mean with its 95 % interval."""
    by_value: Mapping[str, Any] = result["sweep"]["values"]
    metrics = list(dict.fromkeys(metric for run in by_value.values() for metric in _metrics(run["methods"])))
    key = result["sweep"]["key"]
    body = [
        [value, name, *_cells(values, metrics), *_seconds(values)]
        for value, run in by_value.items()
        for name, values in run["methods"].items()
    ]
    last = f"{result['suite']}: {result['questions']} questions for each value of {key}; {INTERVALS}"
    return "\n".join([*aligned_table([key, "method", *metrics, "s/question", "median s"], body), last])


def judgement_text(result: Mapping[str, Any]) -> str:
    """Return a table of win rates for each criterion, and the shares of ties and of contradictions of the judge."""
    blocks = []
    for criterion, verdicts in result["criteria"].items():
        rates: Mapping[str, Any] = verdicts["win_rates"]
        names = list(rates)
        body = [
            [name, *(_interval("win", rates[name][other]) if other in rates[name] else "-" for other in names)]
            for name in names
        ]
        reliability = (
            f"ties {verdicts['ties']:.0%}; of decided verdicts {verdicts['first_shown']:.0%} for the answer shown "
            f"first; contradicts itself in {verdicts['inconsistent']:.0%} of swapped pairs"
        )
        if not verdicts["reliable"]:
            reliability += ": do not rely on these rates"
        title = f"{criterion}: how often the row wins against the column"
        blocks.append("\n".join([title, *aligned_table(["", *names], body), reliability]))
    blocks.append(
        f"{count(result['questions'], 'questions')}, {count(result['repeats'], 'repeats')} in both orders; a tie is "
        f"half a win; {INTERVALS} over questions"
    )
    if result["failures"]:
        blocks.append(f"{count(len(result['failures']), 'verdicts or answers')} could not be had; see --json")
    return "\n\n".join(blocks)


def _metrics(by_method: Mapping[str, Any]) -> list[str]:
    """Return the names of all metrics, in the order in which they appear."""
    names = (
        name
        for values in by_method.values()
        for name, value in values.items()
        if isinstance(value, dict) and name not in {"by_hops", "by_kind"}
    )
    return list(dict.fromkeys(names))


def _by_group(by_method: Mapping[str, Any], key: str, head: str) -> list[str]:
    """Return a table of the groups of questions under a key of the results; nothing if there are none."""
    rows = [
        (name, group, values)
        for name, of_method in by_method.items()
        for group, values in of_method.get(key, {}).items()
    ]
    if not rows:
        return []
    metrics = list(dict.fromkeys(metric for *_, values in rows for metric in values))
    body = [[name, group, *_cells(values, metrics)] for name, group, values in rows]
    return ["", *aligned_table(["method", head, *metrics], body)]


def _cells(values: Mapping[str, Any], metrics: list[str]) -> list[str]:
    return [_interval(metric, values[metric]) if metric in values else "-" for metric in metrics]


def _seconds(values: Mapping[str, Any]) -> list[str]:
    return [f"{values['seconds_per_question']:.3f}", f"{values['median_seconds']:.3f}"]


def _interval(metric: str, values: Mapping[str, float]) -> str:
    digits = 0 if metric in _WHOLE_NUMBERS else 3
    return f"{values['mean']:,.{digits}f} [{values['low']:,.{digits}f}, {values['high']:,.{digits}f}]"


# Training


def graph2text_text(report: "Graph2TextTraining", out: Path) -> str:
    """Return what the training reached, and the folder of the model."""
    return (
        f"{report.n_training} pairs trained on, {report.n_validation} held out\n"
        f"ROUGE-L {report.before:.3f} before training, {report.after:.3f} after epoch {report.best}, which is kept\n"
        f"the model is in {out}; use it with fasttog.graph2text={out}"
    )


def soft_prompt_text(report: "SoftPromptTraining", out: Path) -> str:
    """Return a line for each seed, their mean, and how to use the soft prompt."""
    head = ["seed", "epochs", "kept", "training loss", "validation loss", "score", "lenient", "exchanged"]
    rows = []
    for run in report.runs:
        figures = run.epochs[run.best - 1].training_loss, run.validation_loss, run.score, run.lenient, run.shuffled
        rows.append([*map(str, (run.seed, len(run.epochs), run.best)), *(f"{figure:.4f}" for figure in figures)])
    return "\n".join(
        [
            f"{report.n_training} questions trained on, {report.n_validation} validated with, "
            f"{report.n_test} held back; {report.left_out} have no graph or no answer, "
            f"{len(report.failures)} cannot be read",
            *_graph_sizes(report),
            f"{report.learned:,} parameters learned, {report.frozen:,} frozen; "
            f"{report.minutes_per_epoch:.2f} minutes an epoch",
            *aligned_table(head, rows, 0),
            f"{report.metric} {report.mean:.4f} ± {report.deviation:.4f} "
            f"({report.lenient:.4f} as the authors of GraphQA count); "
            f"{report.shuffled:.4f} with the graphs of other questions; {report.majority:.4f} for the commonest answer",
            f"seed {report.kept} is kept in {out}; ask with it: --method gretriever --set soft_prompt.folder={out}",
        ]
    )


def _graph_sizes(report: "SoftPromptTraining") -> list[str]:
    """Return the mean size of graphs before and after retrieval; one line if retrieval did not change them."""
    before, after = report.before, report.after
    rows = [("nodes", before.nodes, after.nodes), ("edges", before.edges, after.edges)]
    rows.append(("tokens", before.tokens, after.tokens))
    if before == after:
        return ["graphs of " + ", ".join(f"{now:,.1f} {name}" for name, _, now in rows) + ", none of them cut"]
    body = [[name, f"{old:,.1f}", f"{now:,.1f}", f"{1 - now / old:.1%}"] for name, old, now in rows if old]
    return aligned_table(["a graph has", "before", "after", "fewer"], body, 1)
