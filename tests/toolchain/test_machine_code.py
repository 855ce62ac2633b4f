from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.errors import UsageError
from lanewise.toolchain import machine_code, nvcc
from lanewise.toolchain.arch import Arch
from lanewise.toolchain.executable import inspect
from lanewise.toolchain.fatbin import Kind


def test_a_programs_own_machine_code_and_options_are_taken(tmp_path: Path) -> None:
    source = tmp_path / "squeezed.cu"
    source.write_text(
        "__global__ void k(float* a, int n) {\n  float l[48];\n#pragma unroll\n"
        "  for (int i = 0; i < 48; i++) l[i] = a[i * n];\n#pragma unroll\n"
        "  for (int i = 0; i < 48; i++) a[i] = l[i] * l[(i * 7) % 48] + l[47 - i];\n}\nint main() {}\n"
    )
    images = inspect(nvcc.build([source], arch="sm_80", flags=["-maxrregcount=32"])).images
    own = machine_code.of_images(images, Arch(80))
    assert own.cubin == next(image.data for image in images if image.kind is Kind.MACHINE_CODE)
    resources = own.resources["_Z1kPfi"]
    assert resources.registers == 32
    assert resources.spill_store_bytes > 0
    assert machine_code.of_images(images, Arch(86)).cubin == own.cubin  # same major number: the card loads it
    assembled = machine_code.of_images(images, Arch(90))
    assert assembled.cubin != own.cubin
    assert assembled.resources["_Z1kPfi"].registers == 32
    with pytest.raises(UsageError, match="compute_80, which sm_75 cannot run"):
        machine_code.of_images(images, Arch(75))


def test_of_a_linked_program_the_linked_code_counts(linked: Path) -> None:
    images = inspect(linked).images
    own = machine_code.of_images(images, Arch(90))
    assert own.cubin == images[0].data
    assert list(own.resources) == ["_Z5applyPf"]
    again = machine_code.of_images([image for image in images if image.kind is Kind.PTX], Arch(90))
    assert again.resources == own.resources
