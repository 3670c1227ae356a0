"""Exceptions that carry a message for the person who gave the input."""


class DataError(ValueError):
    """Input data cannot be used.

    The message says what was given, where (file and line when there is one), what is
    allowed and what to do. The command line prints it as it is and exits with 1.
    """


class OutputExistsError(DataError):
    """What was to be written is there already, and nobody said that it may be replaced.

    Nothing is wrong with the data: the command line exits with 2, as for other wrong usage.
    """
