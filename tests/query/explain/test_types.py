from conspectus.query.explain.types import Explained, Path, PathEdge, PathHop, PathNode, path_graph
from conspectus.query.types import Passage

A, B, C, T = (PathNode("passage", id_, id_.upper()) for id_ in "abct")
PASSAGE = Passage("d", "t", 0, 1, 1.0, "T", "T")


def path(share: float, *nodes: PathNode) -> Path:
    hops = tuple(PathHop(node, "names" if place else "", 0.5) for place, node in enumerate(nodes))
    return Path(f"why {nodes[0].id}", hops, share)


def explained(*paths: Path) -> Explained:
    return Explained(1, PASSAGE, (), 0.5, 1.0, paths)


def test_the_union_of_paths_in_layers() -> None:
    found = path_graph(explained(path(0.5, A, T), path(0.25, A, B, T), path(0.125, C, T)))
    assert [(each.node, each.layer, each.mass, each.why) for each in found.nodes] == [
        (A, 0, 0.375, "why a"), (C, 0, 0.0625, "why c"), (B, 1, 0.125, ""), (T, 2, 0.4375, ""),
    ]  # fmt: skip
    assert found.edges == (
        PathEdge(0, 2, "names", 0.125), PathEdge(0, 3, "names", 0.25), PathEdge(1, 3, "names", 0.0625),
        PathEdge(2, 3, "names", 0.125),
    )  # fmt: skip


def test_the_passage_comes_last_even_where_it_is_a_seed() -> None:
    found = path_graph(explained(path(0.7, T), path(0.2, A, T)))
    assert [(each.node, each.layer, each.why) for each in found.nodes] == [(A, 0, "why a"), (T, 1, "why t")]
    assert [each.layer for each in path_graph(explained(path(1.0, T))).nodes] == [0]
