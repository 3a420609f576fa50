"""Web pages: parsing, what of a page is its text, and the text as blocks."""
