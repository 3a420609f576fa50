"""Prompts fitted to a corpus: a sample of it, what a model makes of the sample, and the files that this becomes."""
