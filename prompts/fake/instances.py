"""Instances of a JSON schema: what a server with structured output would answer, without a model.

Covers what schemas of data classes use (JSON Schema 2020-12): types, enum, const, $ref and $defs, anyOf, oneOf and
allOf, bounds of numbers, strings, arrays and objects, multipleOf, uniqueItems, prefixItems, additionalProperties, the
common formats, and patterns that `pattern_text` can read.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from conspectus.prompts.fake.chance import Dice
from conspectus.prompts.fake.patterns import pattern_text
from conspectus.prompts.fake.prose import words

Schema = Mapping[str, Any]

_DEEP = 5
"""From this depth on the smallest instance is made, so that a schema that contains itself comes to an end."""

_ENDLESS = math.inf


class UnsupportedSchema(ValueError):
    """The schema asks for something that no instance is made for here."""


def instance(schema: Schema, dice: Dice) -> Any:  # noqa: ANN401 - JSON
    """Return a value that the schema accepts, always the same for the same dice.

    UnsupportedSchema where the schema contains itself without end, or has a pattern, a reference or a keyword (not,
    if, patternProperties) that is not understood.
    """
    maker = _Maker(schema, dice)
    maker.check(schema)
    return maker.make(schema, 0)


class _Maker:
    def __init__(self, root: Schema, dice: Dice) -> None:
        self._root = root
        self._dice = dice
        self._wrong: list[str] = []

    def check(self, schema: Schema | bool) -> None:
        """Raise UnsupportedSchema where no instance can be made."""
        if self._height(schema, frozenset()) == _ENDLESS:
            raise UnsupportedSchema(self._wrong[0] if self._wrong else "The schema contains itself without end.")

    def make(self, schema: Schema | bool, depth: int) -> Any:  # noqa: ANN401 - JSON
        """Return a value that the schema accepts."""
        plain = self._plain(schema)
        if "const" in plain:
            return plain["const"]
        if "enum" in plain:
            return self._dice.choice(plain["enum"])
        for word in ("anyOf", "oneOf"):
            if word in plain:
                rest = {key: value for key, value in plain.items() if key != word}
                return self.make(merged(rest, self._plain(self._branch(plain[word], depth))), depth)
        match self._type(plain):
            case "object":
                return self._object(plain, depth)
            case "array":
                return self._array(plain, depth)
            case "integer":
                return self._integer(plain)
            case "number":
                return self._number(plain)
            case "boolean":
                return self._dice.unit() < 0.5
            case "null":
                return None
            case _:
                return self._string(plain)

    def _plain(self, schema: Schema | bool) -> Schema:
        """Return the schema with references followed and allOf merged."""
        if isinstance(schema, bool):
            if not schema:
                raise UnsupportedSchema("A schema that accepts nothing (false).")
            return {"type": "string"}
        for word in ("not", "if", "patternProperties", "dependentSchemas", "contains"):
            if word in schema:
                raise UnsupportedSchema(f"The keyword {word!r} is not supported.")
        plain = dict(schema)
        seen: set[str] = set()
        while "$ref" in plain or "allOf" in plain:
            if "$ref" in plain:
                reference = plain.pop("$ref")
                if reference in seen:
                    raise UnsupportedSchema(f"The reference {reference!r} leads to itself.")
                seen.add(reference)
                plain = merged(plain, self._resolved(reference))
            else:
                for part in plain.pop("allOf"):
                    plain = merged(plain, self._plain(part))
        return plain

    def _resolved(self, reference: str) -> Schema:
        found: Any = self._root
        if not reference.startswith("#"):
            raise UnsupportedSchema(f"The reference {reference!r} leads out of the schema.")
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or key not in found:
                raise UnsupportedSchema(f"The reference {reference!r} leads nowhere.")
            found = found[key]
        if not isinstance(found, Mapping):
            raise UnsupportedSchema(f"The reference {reference!r} leads to no schema.")
        return found

    def _branch(self, branches: Sequence[Schema], depth: int) -> Schema:
        """Return one of the alternatives, the shallowest where it is deep already."""
        heights = [self._height(branch, frozenset()) for branch in branches]
        fitting = [branch for branch, height in zip(branches, heights, strict=True) if height < _ENDLESS]
        if not fitting:
            raise UnsupportedSchema("No alternative of anyOf has an instance that ends.")
        if depth >= _DEEP:
            return branches[heights.index(min(heights))]
        return self._dice.choice(fitting)

    def _height(self, schema: Schema | bool, above: frozenset[str]) -> float:
        """Return how deep the shallowest instance is; endless where there is none that ends or that can be made."""
        if isinstance(schema, Mapping) and "$ref" in schema:
            if schema["$ref"] in above:
                return _ENDLESS
            above |= {schema["$ref"]}
        try:
            plain = self._plain(schema)
            if "pattern" in plain:
                pattern_text(plain["pattern"], Dice("try"))
        except ValueError as error:
            self._wrong.append(str(error))
            return _ENDLESS
        if "const" in plain or "enum" in plain:
            return 0
        for word in ("anyOf", "oneOf"):
            if word in plain:
                return min(self._height(branch, above) for branch in plain[word])
        kind = self._type(plain)
        if kind == "object":
            properties = plain.get("properties", {})
            return 1 + max(
                (self._height(properties.get(key, True), above) for key in plain.get("required", ())), default=0
            )
        if kind == "array":
            return 1 + (self._height(plain.get("items", True), above) if plain.get("minItems", 0) else 0)
        return 0

    def _type(self, schema: Schema) -> str:
        kind = schema.get("type")
        if isinstance(kind, str):
            return kind
        if isinstance(kind, Sequence):
            return str(self._dice.choice(kind))
        if "properties" in schema or "required" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        return "number" if {"minimum", "maximum", "multipleOf"} & schema.keys() else "string"

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        wanted = [key for key in properties if key in required or (depth < _DEEP and self._can(properties[key]))]
        made = {key: self.make(properties[key], depth + 1) for key in wanted}
        others = schema.get("additionalProperties", True)
        made.update((key, self.make(others, depth + 1)) for key in required if key not in made)
        least = max(schema.get("minProperties", 0), 1 if isinstance(others, Mapping) and depth < _DEEP else 0)
        while len(made) < least and others is not False:
            made.setdefault(words(self._dice, 2).replace(" ", "_"), self.make(others, depth + 1))
        if len(made) < schema.get("minProperties", 0):
            raise UnsupportedSchema("minProperties asks for more properties than the object may have.")
        return made

    def _can(self, schema: Schema | bool) -> bool:
        return self._height(schema, frozenset()) < _ENDLESS

    def _array(self, schema: Schema, depth: int) -> list[Any]:
        first: Sequence[Any] = schema.get("prefixItems", ())
        low = schema.get("minItems", len(first))
        items = schema.get("items", True)
        high = len(first) if items is False else schema.get("maxItems", max(low, 4))
        low = min(high, max(low, 0 if depth >= _DEEP or not self._can(items) else 1))
        count = low if depth >= _DEEP else self._dice.whole(low, min(high, low + 3))
        made: list[Any] = []
        for place in range(count):
            item = first[place] if place < len(first) else items
            value = self.make(item, depth + 1)
            if schema.get("uniqueItems"):
                tries = 0
                while value in made and tries < 100:
                    value, tries = self.make(item, depth + 1), tries + 1
                if value in made:
                    if len(made) >= schema.get("minItems", 0):
                        break
                    raise UnsupportedSchema("uniqueItems asks for more different items than were found.")
            made.append(value)
        return made

    def _integer(self, schema: Schema) -> int:
        step = schema.get("multipleOf", 1)
        low, high = _bounds(schema, lambda bound: math.floor(bound) + 1, lambda bound: math.ceil(bound) - 1, 10 * step)
        return int(self._multiple(step, low, high))

    def _number(self, schema: Schema) -> float:
        step = schema.get("multipleOf")
        low, high = _bounds(
            schema,
            lambda bound: math.nextafter(bound, math.inf),
            lambda bound: math.nextafter(bound, -math.inf),
            10 * (step or 1),
        )
        if step is not None:
            return float(self._multiple(step, low, high))
        value = min(high, max(low, low + (high - low) * (0.05 + 0.9 * self._dice.unit())))
        rounded = round(value, 2)
        return rounded if low <= rounded <= high else value

    def _multiple(self, step: float, low: float, high: float) -> float:
        """Return a multiple of the step that lies between the bounds."""
        least, most = math.ceil(low / step), math.floor(high / step)
        if least > most:
            raise UnsupportedSchema(f"No multiple of {step} lies between {low} and {high}.")
        return self._dice.whole(least, most) * step

    def _string(self, schema: Schema) -> str:
        if "pattern" in schema:
            return pattern_text(schema["pattern"], self._dice)
        if "format" in schema:
            return self._formatted(schema["format"])
        low, high = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        text = words(self._dice, self._dice.whole(2, 12))
        while len(text) < low:
            text += " " + words(self._dice, 4)
        return text if len(text) <= high else text[: int(high)]

    def _formatted(self, name: str) -> str:
        dice = self._dice
        date = f"{dice.whole(1900, 2020)}-{dice.whole(1, 12):02}-{dice.whole(1, 28):02}"
        time = f"{dice.whole(0, 23):02}:{dice.whole(0, 59):02}:{dice.whole(0, 59):02}"
        word = words(dice, 1)
        made = {
            "date": date,
            "time": f"{time}Z",
            "date-time": f"{date}T{time}Z",
            "duration": f"P{dice.whole(1, 9)}D",
            "email": f"{word}@example.com",
            "hostname": f"{word}.example.com",
            "uri": f"https://example.com/{word}",
            "uuid": str(UUID(int=dice.whole(0, 2**53) << 64, version=4)),
            "ipv4": f"192.0.2.{dice.whole(1, 254)}",
            "ipv6": f"2001:db8::{dice.whole(1, 9999)}",
        }
        return made.get(name, word)


def _bounds(
    schema: Schema, above: Callable[[float], float], below: Callable[[float], float], width: float
) -> tuple[float, float]:
    """Return the least and the greatest number allowed: from 0 on, and `width` apart, where the schema is silent.

    `above` and `below` give the next number beyond one that is excluded.
    """
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if "exclusiveMinimum" in schema:
        low = max(low, above(schema["exclusiveMinimum"]))
    if "exclusiveMaximum" in schema:
        high = min(high, below(schema["exclusiveMaximum"]))
    if low == -math.inf:
        low = min(0, high - width) if high < math.inf else 0
    if high == math.inf:
        high = low + width
    if low > high:
        raise UnsupportedSchema(f"No number lies between {low} and {high}.")
    return low, high


def merged(one: Schema, other: Schema) -> dict[str, Any]:
    """Return a schema that asks for what both ask for, as far as allOf of data classes needs it."""
    both = {**other, **one}
    if "properties" in one and "properties" in other:
        both["properties"] = {**other["properties"], **one["properties"]}
    if "required" in one and "required" in other:
        both["required"] = list(dict.fromkeys([*other["required"], *one["required"]]))
    for word, pick in (
        ("minimum", max),
        ("minLength", max),
        ("minItems", max),
        ("maximum", min),
        ("maxLength", min),
        ("maxItems", min),
    ):
        if word in one and word in other:
            both[word] = pick(one[word], other[word])
    return both
