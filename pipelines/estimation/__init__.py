"""Estimate the cost of indexing without a server: count the prompts, and assume replies of the usual length."""
