"""Textures and surfaces: records, handles, coordinates, texels, filtering."""
