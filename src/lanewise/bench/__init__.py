"""Times on a real card: rungs of the ladder beside what a user would call instead. Needs torch; takes CuPy."""
