"""An overview of the whole, or of what the whole says about something, from the documents' own structure.

`parts.py` divides the documents into parts, `threads.py` messages into conversations, `sentences.py` chooses what a
sentence says of each, `themes.py` tells the whole, and `focus.py` what a question asks the whole about.
"""
