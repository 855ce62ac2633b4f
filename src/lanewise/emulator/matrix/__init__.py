"""Matrices in the registers of a warp: where elements lie, and the products of tensor cores."""
