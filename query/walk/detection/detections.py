"""The detections by name, as the settings name them."""

from query.walk.detection.agglomerative import agglomerative
from query.walk.detection.chance import by_chance
from query.walk.detection.girvan_newman import girvan_newman
from query.walk.detection.graph import Detection
from query.walk.detection.louvain import louvain
from query.walk.detection.spectral import spectral

DETECTIONS: dict[str, Detection] = {
    "louvain": louvain,
    "girvan_newman": girvan_newman,
    "agglomerative": agglomerative,
    "spectral": spectral,
    "random": by_chance,
}
