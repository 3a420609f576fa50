"""The steps of indexing: plain functions, one file each, named for what they make."""
