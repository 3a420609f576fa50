"""Which records go into a report's prompt, and what they look like there.

Everything where it fits. Otherwise, by GraphRAG's rules (Edge et al. 2024, section 3.1.5), the most prominent elements,
and in a community that is divided further the reports of its parts in place of the parts' own elements.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from conspectus.pipelines.steps.report_elements import Element, without_findings
from conspectus.storage.records import Span

_SECTIONS: tuple[Literal["S", "E", "R", "C"], ...] = ("S", "E", "R", "C")


@dataclass(frozen=True, slots=True)
class Cited:
    """What a record's number stands for; `is_name`: its places say no more than that the entity is named there."""

    spans: tuple[Span, ...]
    is_name: bool


def tokens_of(elements: Iterable[Element], most: int) -> int:
    """Return the tokens that records take in a prompt of at most `most`, numbers included: never too few.

    A prompt of `most` tokens has fewer than `most` records, and a number has no more tokens than characters.
    """
    label = len("[E]") + len(str(most))
    return sum(
        each.n_tokens + label + len(each.parts) * (label + len(".") + len(str(len(each.parts)))) for each in elements
    )


def without(elements: Iterable[Element], part: frozenset[str], whole: frozenset[str]) -> list[Element]:
    """Return the elements of a community (`whole`, by its entities) that are not also those of a `part` of it.

    An edge between two parts belongs to neither. A claim belongs to its subject, or to its object where the subject is
    outside.
    """

    def is_gone(each: Element) -> bool:
        if each.kind == "C":
            return next(id_ for id_ in each.about if id_ in whole) in part
        return part.issuperset(each.about)

    return [each for each in elements if not is_gone(each)]


def packed(reports: Sequence[Element], elements: Sequence[Element], most: int) -> list[Element]:
    """Return the reports and then the elements, both in their order, until the next does not fit.

    Reports that do not fit all are cut down to title and summary, the last first, so that as many parts as possible
    are heard of at all.
    """
    chosen = list(reports)
    for place in reversed(range(len(chosen))):
        if tokens_of(chosen, most) <= most:
            break
        chosen[place] = without_findings(chosen[place])
    chosen = _until_full(chosen, most, most)
    left = most - tokens_of(chosen, most)
    return [*chosen, *(_until_full(elements, left, most) if len(chosen) == len(reports) else [])]


def _until_full(elements: Iterable[Element], room: int, most: int) -> list[Element]:
    taken = []
    for each in elements:
        room -= tokens_of([each], most)
        if room < 0:
            break
        taken.append(each)
    return taken


def listed(elements: Iterable[Element]) -> tuple[str, dict[str, Cited]]:
    """Return the records as text, by kind and name, and what each number in it stands for."""
    sections: defaultdict[str, list[Element]] = defaultdict(list)
    for each in elements:
        sections[each.kind].append(each)
    lines: list[str] = []
    cited: dict[str, Cited] = {}
    for kind in _SECTIONS:
        in_name_order = sorted(sections[kind], key=lambda each: (each.order, each.text))
        for number, each in enumerate(in_name_order, 1):
            _list(each, f"{kind}{number}", lines, cited)
    return "\n".join(lines), cited


def _list(element: Element, label: str, lines: list[str], cited: dict[str, Cited]) -> None:
    lines.append(f"[{label}] {element.text}")
    cited[label] = Cited(element.spans, element.kind == "E")
    for number, part in enumerate(element.parts, 1):
        lines.append(f"[{label}.{number}] {part.text}")
        cited[f"{label}.{number}"] = Cited(part.spans, False)


def largest_first(parts: Mapping[str, Sequence[Element]], most: int) -> list[str]:
    """Return the keys of the parts of a community in decreasing tokens of their elements; ties go by name."""

    def key(part: str) -> tuple[int, list[tuple[str, ...]]]:
        return (-tokens_of(parts[part], most), sorted(each.order for each in parts[part]))

    return sorted(parts, key=key)
