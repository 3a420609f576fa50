"""One division of a graph by leidenalg, for each of its quality functions.

leidenalg and igraph are under the GPL: they are the extra `igraph`, and imported only if the settings name them.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from conspectus.storage.arrays import SmallInts
from conspectus.storage.errors import MissingPart
from conspectus.storage.graph.edges import Edges

CPM = "leidenalg:cpm"
_PARTITIONS = {
    "leidenalg:modularity": "RBConfigurationVertexPartition",  # modularity, with a resolution
    CPM: "CPMVertexPartition",
    "leidenalg:rber": "RBERVertexPartition",
    "leidenalg:surprise": "SurpriseVertexPartition",
    "leidenalg:significance": "SignificanceVertexPartition",
}
"""The engines of this library, and its name for the quality that each maximises."""
_WITHOUT_RESOLUTION = ("leidenalg:surprise", "leidenalg:significance")
_WITHOUT_WEIGHTS = "leidenalg:significance"


def check_engine(engine: str) -> None:
    """Raise MissingPart if an engine is one of leidenalg's, and that is not installed."""
    if engine in _PARTITIONS and find_spec("leidenalg") is None:
        raise MissingPart(f"{engine} needs leidenalg (GPL): pip install 'conspectus[igraph]'")


def divide(edges: Edges, engine: str, unit: float, resolution: float, iterations: int, seed: int) -> SmallInts:
    """Return the community of each node.

    Traag, Waltman and van Eck (2019), by their own library: modularity with a resolution (Reichardt and Bornholdt
    2006), the constant Potts model `cpm` (Traag, Van Dooren and Nesterov 2011), `rber` (against a random graph of the
    same density), `surprise` and `significance` (Traag and others 2013, 2015), which have no resolution; significance
    ignores weights.

    Args:
        edges: The edges of the graph.
        engine: "leidenalg:" and the quality.
        unit: What the weights are divided by.
        resolution: Higher gives more and smaller communities.
        iterations: Iterations of Leiden.
        seed: Random seed.

    Raises:
        MissingPart: leidenalg is not installed.
    """
    check_engine(engine)
    import igraph
    import leidenalg

    graph = igraph.Graph(edges.n_nodes, np.column_stack([edges.lower, edges.upper]))
    options: dict[str, Any] = {"n_iterations": iterations, "seed": seed % 2**31}
    if engine not in _WITHOUT_RESOLUTION:
        options["resolution_parameter"] = resolution
    if engine != _WITHOUT_WEIGHTS:
        options["weights"] = (edges.weights / unit).tolist()
    found = leidenalg.find_partition(graph, getattr(leidenalg, _PARTITIONS[engine]), **options)
    return np.array(found.membership, np.int32)
