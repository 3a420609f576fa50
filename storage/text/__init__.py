"""Text as indexing and asking must both see it: names, tokens, sentences, known names found in text."""
