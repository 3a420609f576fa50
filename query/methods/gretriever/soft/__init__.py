"""G-Retriever with a trained graph encoder and soft prompt (He et al. 2024, section 5.4)."""
