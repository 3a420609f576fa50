"""FastToG: community-by-community reasoning on a knowledge graph (Liang and Gu 2025)."""
