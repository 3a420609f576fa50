"""The steps of indexing: plain functions, one file each."""
