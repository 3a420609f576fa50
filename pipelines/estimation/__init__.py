"""Estimate the cost of indexing without a server: run the steps with a model that only counts."""
