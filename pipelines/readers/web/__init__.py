"""Web pages: parsing, finding the main text, and writing it as blocks."""
