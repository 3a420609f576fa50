"""The documents' own structure: their outline, and the links that it makes between passages."""
