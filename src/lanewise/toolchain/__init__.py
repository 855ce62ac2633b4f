"""The CUDA compilers from their PyPI wheels: source in, PTX and cubin out."""
