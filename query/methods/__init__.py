"""One folder or file for each method; `query/menu.py` lists them."""
