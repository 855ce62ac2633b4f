"""The CUDA runtime that whole programs are linked with, and its server."""
