"""Which documents a question may be answered from: by what is told about them, and by their access tags."""
