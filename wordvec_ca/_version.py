"""The version number; it is written only here."""

__version__ = "0.1.0"
