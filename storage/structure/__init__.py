"""The documents' own structure: their outline, and the links between their passages."""
