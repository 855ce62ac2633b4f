"""The CUDA runtime that whole programs are linked with, and its server."""

from lanewise.cudart.library import known_symbols, library_directory, supported_symbols

__all__ = ["known_symbols", "library_directory", "supported_symbols"]
