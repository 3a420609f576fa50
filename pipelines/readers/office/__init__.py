"""Microsoft Office files: documents, presentations and workbooks."""
