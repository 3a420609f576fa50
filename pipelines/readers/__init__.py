"""What people have on disk, read as rows of text: a format a file, and the guards around them."""
