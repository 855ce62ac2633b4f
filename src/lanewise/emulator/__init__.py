"""PTX to LLVM: translation, launches, device memory, counters."""
