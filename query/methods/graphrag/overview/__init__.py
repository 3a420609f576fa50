"""An overview of the whole corpus, or of its statements about a subject, from the documents' own structure.

`parts.py` divides the documents into parts, `sentences.py` chooses a sentence about each, `themes.py` divides messages
into conversations and describes the whole, and `focus.py` what the whole says about a subject.
"""
