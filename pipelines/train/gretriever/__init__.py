"""Train G-Retriever's soft graph prompt."""
