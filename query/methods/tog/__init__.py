"""ToG and ToG-2: beam search over a knowledge graph."""
