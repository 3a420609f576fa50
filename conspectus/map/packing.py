"""Pack circles without overlap, and compute their enclosing circle.

Front-chain packing: Wang, Wang, Dai and Wang 2006, "Visualization of Large Hierarchical Data by Circle Packing",
section 3. Ours differs in the order (largest first) and in the place of a circle on the front: near the centre, but
drawn towards the circles that it has ties with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, sqrt

_PULL = 1.2
"""Weight of ties against the centre: 0 packs tightest, 2 draws each circle all the way to its ties."""
_TOUCH = 1e-6
"""Overlaps below this share of a radius are rounding errors."""


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle: its centre and its radius."""

    x: float
    y: float
    r: float


Ties = Sequence[Mapping[int, float]]
"""For each circle the weights of its ties to other circles, by their index."""


def packed(radii: Sequence[float], ties: Ties | None = None) -> list[Circle]:
    """Return circles of these radii without overlaps, close together around the origin.

    >>> [(round(each.x, 3), round(each.y, 3)) for each in packed([1.0, 1.0, 1.0])]
    [(-1.0, 0.0), (1.0, 0.0), (0.0, 1.732)]
    """
    order = sorted(range(len(radii)), key=lambda row: (-radii[row], row))
    front = _Front([radii[row] for row in order])
    place = {row: at for at, row in enumerate(order)}
    for at, row in enumerate(order):
        near = [(place[other], weight) for other, weight in ties[row].items()] if ties else []
        front.add(at, front.towards([(other, weight) for other, weight in near if other < at]))
    return [Circle(front.x[place[row]], front.y[place[row]], radii[row]) for row in range(len(radii))]


def enclosing(circles: Sequence[Circle]) -> Circle:
    """Return a circle around all of these, at most about 1 % larger than the smallest possible; r = 0 for no circles.

    The centre moves towards the circles that reach farthest; the step is halved whenever that hardly helps.
    """
    if not circles:
        return Circle(0.0, 0.0, 0.0)
    left, right = min(circle.x - circle.r for circle in circles), max(circle.x + circle.r for circle in circles)
    low, high = min(circle.y - circle.r for circle in circles), max(circle.y + circle.r for circle in circles)
    x, y = (left + right) / 2, (low + high) / 2
    reach = _reach(circles, x, y)
    step = reach / 4
    while step > reach * 0.001:
        towards_x = towards_y = 0.0
        for item in circles:
            away = hypot(item.x - x, item.y - y)
            if away > 0 and away + item.r > reach - step:
                towards_x += (item.x - x) / away
                towards_y += (item.y - y) / away
        pull = hypot(towards_x, towards_y) or 1.0
        new_x, new_y = x + towards_x / pull * step, y + towards_y / pull * step
        new_reach = _reach(circles, new_x, new_y)
        if new_reach < reach - step * 0.02:
            x, y, reach = new_x, new_y, new_reach
        else:
            step /= 2
    return Circle(x, y, reach)


def _reach(circles: Sequence[Circle], x: float, y: float) -> float:
    return max(hypot(circle.x - x, circle.y - y) + circle.r for circle in circles)


class _Front:
    """Circles placed so far; the outer ones form a clockwise ring, so that outside is on its left."""

    def __init__(self, radii: Sequence[float]) -> None:
        self.x = [0.0] * len(radii)
        self.y = [0.0] * len(radii)
        self._r = radii
        self._next = [0] * len(radii)
        self._before = [0] * len(radii)
        self._any = 0

    def towards(self, near: Sequence[tuple[int, float]]) -> tuple[float, float]:
        """Return the weighted mean centre of placed circles, the origin if there are none."""
        total = sum(weight for _, weight in near)
        if not total:
            return 0.0, 0.0
        return (
            sum(self.x[at] * weight for at, weight in near) / total,
            sum(self.y[at] * weight for at, weight in near) / total,
        )

    def add(self, at: int, aim: tuple[float, float]) -> None:
        """Place the next circle on the front, near the origin and the aim."""
        if at == 0:
            return
        if at == 1:
            self.x[0], self.x[1] = -self._r[0], self._r[1]
            self._link(0, 1)
            self._link(1, 0)
            return
        left = self._nearest(aim)
        right = self._next[left]
        while True:
            self.x[at], self.y[at] = self._beside(left, right, self._r[at])
            hit, ahead = self._hit(at, left, right)
            if hit is None:
                break
            if ahead:  # the front up to there is enclosed now
                right = hit
            else:
                left = hit
        self._link(left, at)
        self._link(at, right)
        self._any = at

    def _link(self, left: int, right: int) -> None:
        self._next[left], self._before[right] = right, left

    def _nearest(self, aim: tuple[float, float]) -> int:
        """Return the circle of the front after which the new one is closest to the aim."""
        best, least = self._any, float("inf")
        at = self._any
        while True:
            other = self._next[at]
            both = self._r[at] + self._r[other]
            x = (self.x[at] * self._r[other] + self.x[other] * self._r[at]) / both
            y = (self.y[at] * self._r[other] + self.y[other] * self._r[at]) / both
            cost = x * x + y * y - _PULL * (x * aim[0] + y * aim[1])
            if cost < least - 1e-9:
                best, least = at, cost
            at = other
            if at == self._any:
                return best

    def _beside(self, left: int, right: int, r: float) -> tuple[float, float]:
        """Return the centre of a circle that touches two, to the left of the line from one to the other."""
        along_x, along_y = self.x[right] - self.x[left], self.y[right] - self.y[left]
        between = hypot(along_x, along_y)
        to_left, to_right = self._r[left] + r, self._r[right] + r
        along = (between * between + to_left * to_left - to_right * to_right) / (2 * between)
        aside = sqrt(max(to_left * to_left - along * along, 0.0))
        along_x, along_y = along_x / between, along_y / between
        return self.x[left] + along * along_x - aside * along_y, self.y[left] + along * along_y + aside * along_x

    def _hit(self, at: int, left: int, right: int) -> tuple[int | None, bool]:
        """Return the nearest circle on the front that overlaps the new one, and whether it is ahead of `right`."""
        ahead, behind = self._next[right], self._before[left]
        gone_ahead, gone_behind = self._r[right], self._r[left]
        while ahead != left or behind != right:
            if gone_ahead <= gone_behind and ahead != left:
                if self._overlap(at, ahead):
                    return ahead, True
                gone_ahead += self._r[ahead]
                ahead = self._next[ahead]
            elif behind != right:
                if self._overlap(at, behind):
                    return behind, False
                gone_behind += self._r[behind]
                behind = self._before[behind]
            else:
                gone_behind = float("inf")
        return None, True

    def _overlap(self, one: int, other: int) -> bool:
        apart = self._r[one] + self._r[other]
        x, y = self.x[one] - self.x[other], self.y[one] - self.y[other]
        return x * x + y * y < apart * apart * (1 - _TOUCH)
