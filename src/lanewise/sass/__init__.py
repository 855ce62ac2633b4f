"""Machine code as nvdisasm lists it, and its join with the lines of PTX. It is read, never executed."""
