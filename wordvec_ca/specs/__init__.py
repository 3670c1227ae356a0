"""What options, models, formats and tasks there are, each listed once; and how quantities are written."""
