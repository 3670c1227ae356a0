"""One module per task: how it judges vectors and what it reports."""
