"""An index narrowed to the documents that a question may be answered from."""
