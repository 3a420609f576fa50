"""Citations: marks, numbering, alignment with source sentences, and entailment checks."""
