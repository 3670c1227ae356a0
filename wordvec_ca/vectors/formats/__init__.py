"""One module per file format of vectors: its reader and its writer."""
