"""A map of an index in one page of HTML: communities as nested circles, entities as dots, reports on click.

`packing` places circles, `tree` makes a tree of communities, `layout` gives it positions, `data` collects the texts
shown on click, and `page` writes everything into one file that makes no requests.
"""
