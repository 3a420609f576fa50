"""A map of an index in one page of HTML: communities as nested circles, entities as dots, reports on click.

`data` makes a tree of communities and collects it with the texts shown on click, and `page` writes everything into one
file that makes no requests. Its scripts place the circles (d3-hierarchy).
"""
