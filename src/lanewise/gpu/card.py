"""The card of this machine, or one clear message why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from lanewise.errors import EnvironmentProblem
from lanewise.gpu import bindings


@dataclass(frozen=True, slots=True)
class Card:
    """`arch`: 90 is compute capability 9.0. `memory_bytes`: all of the device's memory.

    `shared_bytes`: the most dynamic shared memory a block may ask for, a KiB left to static variables.
    """

    index: int
    name: str
    arch: int
    sms: int
    shared_bytes: int
    memory_bytes: int

    @property
    def target(self) -> str:
        """NVRTC's name of the machine code: sm_90a has what only this architecture has."""
        return f"sm_{self.arch}{'a' if self.arch >= 90 else ''}"


def find(index: int = 0) -> Card:
    """The card of this number, its primary context current in this thread. Raises EnvironmentProblem where none is."""
    try:
        device = bindings.device_class()(index)
        device.set_current()
    except ImportError as error:
        raise EnvironmentProblem(
            "no GPU can be used: cuda-core is not installed", next_step="pip install 'lanewise[gpu]'"
        ) from error
    except Exception as error:  # cuda.core raises RuntimeError without a driver, its own errors without a device
        reason = str(error).splitlines()[0]
        if "dlopen libcuda" in reason:
            reason = "this machine has no NVIDIA driver (libcuda.so.1)"
        raise EnvironmentProblem(
            f"no GPU: {reason}",
            next_step="`lanewise doctor` says what this machine has; `lanewise ladder` counts without a GPU.",
        ) from error
    capability = device.compute_capability
    _, memory = bindings.driver().cuDeviceTotalMem(index)
    return Card(
        index,
        str(device.name),
        10 * int(capability.major) + int(capability.minor),
        int(device.properties.multiprocessor_count),
        int(device.properties.max_shared_memory_per_block_optin) - 1024,
        int(memory),
    )


def present() -> Card | None:
    """The first card, or None."""
    try:
        return find()
    except EnvironmentProblem:
        return None
