"""Lanewise: what a CUDA program does to the GPU memory system, line by line, with no GPU."""
