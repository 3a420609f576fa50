"""The detections by name, as the settings name them."""

from conspectus.query.methods.fasttog.detection.agglomerative import agglomerative
from conspectus.query.methods.fasttog.detection.girvan_newman import girvan_newman
from conspectus.query.methods.fasttog.detection.graph import Detection
from conspectus.query.methods.fasttog.detection.louvain import louvain
from conspectus.query.methods.fasttog.detection.random import by_chance
from conspectus.query.methods.fasttog.detection.spectral import spectral

DETECTIONS: dict[str, Detection] = {
    "louvain": louvain,
    "girvan_newman": girvan_newman,
    "agglomerative": agglomerative,
    "spectral": spectral,
    "random": by_chance,
}
