"""What a program does wrong: bounds, races, uninitialised reads, barriers, leaks; found while its kernels run."""
