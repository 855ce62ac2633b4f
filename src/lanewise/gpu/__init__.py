"""Rungs of the ladder on a real card: found through cuda.core, compiled by NVRTC, launched by the driver."""
