"""A map of an index in one page of HTML: communities as nested circles, entities as dots, reports on click.

`packing` places circles, `regions` makes a tree of communities, `layout` gives it positions, `content` collects what
is told on click, and `page` writes it all into one file that asks nobody for anything.
"""
