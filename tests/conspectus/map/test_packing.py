from math import cos, hypot, pi, sin, sqrt

import pytest
from conspectus.map.packing import Circle, enclosing, packed
from hypothesis import given
from hypothesis import strategies as st

RADII = st.lists(st.floats(0.05, 40), min_size=1, max_size=60)


def overlap(one: Circle, other: Circle) -> float:
    return (one.r + other.r - hypot(one.x - other.x, one.y - other.y)) / (one.r + other.r)


@given(RADII, st.randoms(use_true_random=False))
def test_no_two_circles_overlap_and_each_keeps_its_radius(radii: list[float], draw) -> None:  # noqa: ANN001
    ties = [{draw.randrange(len(radii)): 1.0} for _ in radii]
    for circles in (packed(radii), packed(radii, ties)):
        assert [each.r for each in circles] == radii
        assert all(overlap(one, other) < 1e-6 for row, one in enumerate(circles) for other in circles[:row])


@given(RADII)
def test_the_circle_around_them_holds_all_and_is_hardly_larger_than_it_must_be(radii: list[float]) -> None:
    circles = packed(radii)
    around = enclosing(circles)
    assert all(hypot(each.x - around.x, each.y - around.y) + each.r <= around.r * (1 + 1e-9) for each in circles)
    # No circle is smaller than half the widest pair; the three that touch the smallest one make it at most 2 / sqrt 3.
    widest = max(hypot(one.x - other.x, one.y - other.y) + one.r + other.r for one in circles for other in circles)
    least = max(widest / 2, max(radii))
    assert least <= around.r * (1 + 1e-9)
    assert around.r <= least * 2 / sqrt(3) * 1.02


def test_circles_whose_answer_is_known() -> None:
    assert packed([]) == []
    assert packed([3.0]) == [Circle(0.0, 0.0, 3.0)]
    assert enclosing([]) == Circle(0.0, 0.0, 0.0)
    assert enclosing(packed([1.0] * 3)).r == pytest.approx(1 + 2 / sqrt(3), rel=0.005)
    around_one = [Circle(0.0, 0.0, 1.0), *(Circle(2 * cos(at * pi / 3), 2 * sin(at * pi / 3), 1.0) for at in range(6))]
    assert enclosing(around_one).r == pytest.approx(3.0, rel=0.005)
    assert enclosing(packed([5.0, 1.0])).r == pytest.approx(6.0, rel=0.005)


def test_a_pack_is_dense_and_ties_draw_together() -> None:
    circles = packed([1.0] * 400)
    assert 400 / enclosing(circles).r ** 2 > 0.78  # of 0.907, the most that there can be
    ties = [{(row + 200) % 400: 1.0} for row in range(400)]

    def apart(found: list[Circle]) -> float:
        return sum(hypot(found[row].x - found[row + 200].x, found[row].y - found[row + 200].y) for row in range(200))

    assert apart(packed([1.0] * 400, ties)) < 0.75 * apart(circles)
