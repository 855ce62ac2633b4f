"""What the command line does not wait for when it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["lanewise", "lanewise.cli.main"])
def test_the_compiler_is_loaded_when_a_kernel_is_to_run(module: str) -> None:
    script = f"import sys, {module}; print(*sorted(sys.modules.keys() & {{'llvmlite', 'numpy', 'torch'}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
