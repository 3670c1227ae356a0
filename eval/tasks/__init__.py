"""One module per task: what it reads, how it judges vectors, what it reports."""
