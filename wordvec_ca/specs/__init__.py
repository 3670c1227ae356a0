"""Tables of all options, models, formats and tasks, and functions that write quantities as text."""
