"""The file of corrections: what people say of the graph, which every build applies (docs/corrections.md)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path
from typing import Any

from conspectus.storage.errors import SettingsError, UsageError, did_you_mean
from conspectus.storage.hashing import entity_id
from conspectus.storage.publishing import write_whole
from conspectus.storage.text.normalise import entity_key

KINDS: dict[str, tuple[tuple[int, ...], str, int]] = {
    "merge": ((), "", 0),
    "same": ((), "", 0),
    "apart": ((), "", 0),
    "rename": ((1,), "to", 1),
    "split": ((1,), "into", 1),
    "forbid": ((1, 2, 3), "", 0),
    "type": ((1,), "is", 1),
    "fix": ((3,), "to", 3),
}
"""Each kind: how many names it may have (none: two or more), and the key and number of what they become."""
WHERE = ("document", "passage", "words")
"""The keys by which a split chooses places, one of them."""
MERGING = ("merge", "same", "rename")


@dataclass(frozen=True, slots=True)
class Rule:
    """One correction.

    Attributes:
        kind: A key of `KINDS`.
        names: The names that it concerns; of a relation the source, the predicate and the target.
        to: What they become.
        where: For a split: a key of `WHERE`.
        at: For a split: names of documents, ids of passages, or words beside the name.
    """

    kind: str
    names: tuple[str, ...]
    to: tuple[str, ...] = ()
    where: str = ""
    at: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The correction as lines of YAML."""
        _, key, _ = KINDS[self.kind]
        told = [(self.kind, self.names), (key, self.to), (self.where, self.at)]
        return [
            f"{name}: {json.dumps(values[0] if len(values) == 1 else values, ensure_ascii=False)}"
            for name, values in told
            if name
        ]

    @property
    def one_entity(self) -> tuple[str, ...]:
        """The names that it makes one, first the one that stays; empty for other kinds."""
        return (*self.to, *self.names) if self.kind in MERGING else ()


def read_rules(file: str | Path) -> tuple[Rule, ...]:
    """Return the corrections of a file; none if the path is empty.

    Raises:
        SettingsError: The file cannot be read, or a correction is wrong; the message has its line.
    """
    try:
        return _rules(Path(file).read_text("utf-8"), str(file)) if str(file) else ()
    except (OSError, UnicodeError) as error:
        raise SettingsError(f"build.corrections: {file} cannot be read: {error}") from error


def rule_of(kind: str, names: Sequence[str], where: str = "", at: Sequence[str] = ()) -> Rule:
    """Return a correction of a kind; the names are followed by what they become.

    Raises:
        UsageError: There is no such kind, or its names are not those that it needs.

    Example:
        >>> rule_of("rename", ["Mara Quil", "Mara Quill"]).lines
        ['rename: "Mara Quil"', 'to: "Mara Quill"']
    """
    counts, key, _ = KINDS.get(kind, ((), "", 0))
    first = counts[0] if key else len(names)
    item = (
        {kind: list(names[:first])} | ({key: list(names[first:])} if key else {}) | ({where: list(at)} if where else {})
    )
    try:
        return _rule(item)
    except ValueError as error:
        raise UsageError(str(error)) from error


def write_rule(file: Path, rule: Rule, comment: str) -> None:
    """Add a correction to a file, after a comment. The file is made if missing.

    Raises:
        SettingsError: The file is wrong, or the correction does not agree with it.
    """
    before = file.read_text("utf-8") if file.is_file() else ""
    before += "" if not before or before.endswith("\n") else "\n"
    after = f"{before}# {' '.join(comment.split())}\n- " + "\n  ".join(rule.lines) + "\n"
    _rules(after, str(file))
    write_whole(file, after)


def kept_apart(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    """Return the pairs of entities, by id, that must not be merged."""
    groups = [
        (*rule.names, *(rule.to if rule.kind == "split" else ())) for rule in rules if rule.kind in ("apart", "split")
    ]
    return [(entity_of(one), entity_of(other)) for names in groups for one, other in combinations(names, 2)]


def entity_of(name: str) -> str:
    """Return the id of the entity that has this name."""
    return entity_id(entity_key(name))


def _rules(text: str, file: str) -> tuple[Rule, ...]:
    from yaml import BaseLoader, MarkedYAMLError, SequenceNode, YAMLError

    line_of: dict[Rule, int] = {}
    loader = BaseLoader(text)  # every value is a text: 1984 and on are names
    try:
        root = loader.get_single_node()
        if root is None or (root.value == "" and not isinstance(root, SequenceNode)):
            return ()
        if not isinstance(root, SequenceNode):
            raise SettingsError(f"{file}, line 1: corrections are a list: each begins with `- `")
        for node in root.value:
            line = node.start_mark.line + 1
            try:
                rule = _rule(loader.construct_object(node, deep=True))
                if rule in line_of:
                    raise ValueError(f"it repeats line {line_of[rule]}")
            except (ValueError, TypeError) as error:
                raise SettingsError(f"{file}, line {line}: {error}") from error
            line_of[rule] = line
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SettingsError(f"{file}, line {mark.line + 1 if mark else 1}: {error.problem or 'not YAML'}") from error
    except (YAMLError, RecursionError) as error:
        raise SettingsError(f"{file}: not YAML: {str(error).splitlines()[0]}") from error
    finally:
        loader.dispose()
    _check_together(line_of, file)
    return tuple(line_of)


def _rule(item: Any) -> Rule:  # noqa: ANN401  (of YAML)
    """Return a correction; ValueError for a wrong one."""
    if not isinstance(item, dict) or not item:
        raise ValueError('a correction has a kind and names, such as merge: ["Mara Quill", "M. Quill"]')
    kinds = [key for key in item if key in KINDS]
    if len(kinds) != 1:
        suggested = did_you_mean(str(next(iter(item))), KINDS)
        raise ValueError(f"a correction is one of {', '.join(KINDS)}{suggested}")
    kind = kinds[0]
    counts, key, n_to = KINDS[kind]
    names, to = _texts(kind, item.pop(kind)), _texts(key, item.pop(key, ())) if key else ()
    chosen = [where for where in WHERE if kind == "split" and where in item]
    at = _texts(chosen[0], item.pop(chosen[0])) if len(chosen) == 1 else ()
    if len(item):
        known = ", ".join(filter(None, [kind, key, *(WHERE if kind == "split" else ())]))
        raise ValueError(f"{kind} has no {next(iter(item))!r}: its keys are {known}")
    if (len(names) not in counts) if counts else (len(set(map(entity_key, names))) < 2):
        wanted = " or ".join(map(str, counts)) or "two or more different"
        raise ValueError(f"{kind} has {wanted} names, not {len(names)}")
    if len(to) != n_to:
        raise ValueError(f"{kind} needs {key}: {'a name' if n_to == 1 else f'a list of {n_to} names'}")
    if kind == "split" and not at:
        raise ValueError(f"split needs one of {', '.join(WHERE)}, which choose the places")
    if kind == "split" and entity_key(names[0]) == entity_key(to[0]):
        raise ValueError("the name after a split must differ")
    return Rule(kind, names, to, chosen[0] if chosen else "", at)


def _texts(key: str, value: object) -> tuple[str, ...]:
    found = list(value.values()) if isinstance(value, dict) else [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) and entity_key(each) for each in found):
        raise ValueError(f"{key} takes a name, or a list of names")
    return tuple(" ".join(each.split()) for each in found)


def _check_together(line_of: Mapping[Rule, int], file: str) -> None:
    """Raise SettingsError for corrections that contradict one another."""
    into: dict[str, tuple[str, int]] = {}
    for rule, line in line_of.items():
        first, *others = map(entity_key, rule.one_entity or ("",))
        for other in others:
            known, before = into.setdefault(other, (first, line))
            if known != first:
                raise SettingsError(f"{file}, line {line}: line {before} merges {other!r} with {known!r} already")
    merged = {other: first for other, (first, _) in into.items() if other != first}
    try:
        order = list(TopologicalSorter({other: [first] for other, first in merged.items()}).static_order())
    except CycleError as error:
        name = max(error.args[1], key=lambda key: into[key][1])
        raise SettingsError(f"{file}, line {into[name][1]}: other lines merge {name!r} with itself") from error
    last: dict[str, str] = {}
    for key in order:
        last[key] = last.get(merged.get(key, key), merged.get(key, key))
    for rule, line in line_of.items():
        ends = [last.get(entity_key(name), entity_key(name)) for name in rule.names if rule.kind == "apart"]
        if len(set(ends)) < len(ends):
            raise SettingsError(f"{file}, line {line}: other lines merge the names that it keeps apart")
