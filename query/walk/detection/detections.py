"""The detections by name, as the settings name them."""

from conspectus.query.walk.detection.agglomerative import agglomerative
from conspectus.query.walk.detection.chance import by_chance
from conspectus.query.walk.detection.girvan_newman import girvan_newman
from conspectus.query.walk.detection.graph import Detection
from conspectus.query.walk.detection.louvain import louvain
from conspectus.query.walk.detection.spectral import spectral

DETECTIONS: dict[str, Detection] = {
    "louvain": louvain,
    "girvan_newman": girvan_newman,
    "agglomerative": agglomerative,
    "spectral": spectral,
    "random": by_chance,
}
