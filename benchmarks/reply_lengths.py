"""Distribution of the lengths of real replies.

Measured on 185 GPT-4o replies recorded over *A Christmas Carol* by nano-graphrag's users (MIT): 84 extractions in
the delimiter format of GraphRAG and 101 community reports in JSON. Each row has 21 quantiles, from the shortest
reply to the longest in steps of 5 %.
"""

from typing import Literal

Kind = Literal["extraction", "report"]

# fmt: off
CHARACTERS: dict[Kind, tuple[int, ...]] = {
    "extraction": (
        927, 1120, 1204, 1485, 1601, 1755, 1887, 2046, 2158, 2167, 2295, 2349, 2516, 2633, 2713, 2994, 3185,
        3416, 3546, 3953, 7332,
    ),
    "report": (
        1755, 2441, 2714, 2816, 3025, 3170, 3245, 3293, 3527, 3572, 3891, 4072, 4336, 4514, 4606, 4759,
        5166, 5549, 5870, 5975, 8216,
    ),
}
TOKENS: dict[Kind, tuple[int, ...]] = {  # as the fake server counts them
    "extraction": (
        257, 309, 365, 433, 478, 524, 554, 587, 620, 642, 670, 689, 719, 745, 771, 856, 902, 975, 1037,
        1188, 2296,
    ),
    "report": (
        313, 440, 501, 512, 548, 573, 596, 611, 649, 676, 693, 754, 778, 817, 848, 889, 948, 984, 1050,
        1123, 1498,
    ),
}
# fmt: on


def length(kind: Kind, share: float) -> int:
    """Return the characters of a reply that is longer than `share` (0 to 1) of the recorded ones.

    >>> length("report", 0.0) == CHARACTERS["report"][0], length("report", 1.0) == CHARACTERS["report"][-1]
    (True, True)
    """
    steps = CHARACTERS[kind]
    place = min(max(share, 0.0), 1.0) * (len(steps) - 1)
    low = min(int(place), len(steps) - 2)
    return round(steps[low] + (steps[low + 1] - steps[low]) * (place - low))
