"""HippoRAG and HippoRAG 2 (Gutiérrez et al. 2024, 2025)."""
