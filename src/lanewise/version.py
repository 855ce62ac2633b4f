"""The version, in the one place that the package's metadata reads too."""

__version__ = "0.1.0"
