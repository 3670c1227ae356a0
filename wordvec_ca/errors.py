"""The one exception that carries a message for the person who gave the input."""


class DataError(ValueError):
    """Input data cannot be used.

    The message says what was given, where (file and line when there is one), what is
    allowed and what to do. The command line prints it as it is and exits with 1.
    """
