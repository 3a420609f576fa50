"""G-Retriever: subgraph retrieval by prize-collecting Steiner trees (He et al. 2024)."""
