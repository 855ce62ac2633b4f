"""Micro-benchmarks that make a device file out of the GPU of this machine."""
