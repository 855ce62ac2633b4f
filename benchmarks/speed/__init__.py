"""The benchmark of the emulator (docs/performance.md); `benchmarks/run.py` is its command."""
