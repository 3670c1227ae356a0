"""Tables of the options, models, formats and tasks, each listed once; and how quantities are written."""
