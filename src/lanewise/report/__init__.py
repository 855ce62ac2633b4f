"""Reports: each reads a RunResult and nothing else."""
