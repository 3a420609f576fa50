"""Why a method found what it found: a question, an index and a method in, what carried each passage up out."""
