"""Machine code is made with the options that a program was compiled with."""

from __future__ import annotations

from pathlib import Path

from lanewise.toolchain import cubin, machine_code, nvcc, nvrtc
from lanewise.toolchain.arch import Arch
from lanewise.toolchain.executable import inspect
from lanewise.toolchain.fatbin import Kind, choose_machine_code

SQUEEZED = """__global__ void k(float* a, int n) {
  float l[48];
#pragma unroll
  for (int i = 0; i < 48; i++) l[i] = a[i * n];
#pragma unroll
  for (int i = 0; i < 48; i++) a[i] = l[i] * l[(i * 7) % 48] + l[47 - i];
}
"""


def test_registers_follow_the_options_of_the_program(tmp_path: Path) -> None:
    source = tmp_path / "squeezed.cu"
    source.write_text(SQUEEZED + "int main() {}\n")
    images = inspect(nvcc.build([source], arch="sm_80", flags=["-maxrregcount=32"])).images
    (ptx,) = (image for image in images if image.kind is Kind.PTX)
    for arch in ("sm_80", "sm_90"):
        resources = machine_code.assemble([(ptx.text, ptx.options)], arch=arch).resources["_Z1kPfi"]
        assert resources.registers == 32
        assert resources.spill_store_bytes > 0
    assert machine_code.assemble([(ptx.text, "")], arch="sm_80").resources["_Z1kPfi"].registers > 32


def test_modules_are_linked_as_nvcc_links_them(linked: Path) -> None:
    images = inspect(linked).images
    own = choose_machine_code([image for image in images if image.container == 0], Arch(90))
    modules = [(image.text, image.options) for image in images if image.kind is Kind.PTX]
    assert own is not None
    made = machine_code.assemble(modules, arch="sm_90")
    assert list(made.resources) == ["_Z5applyPf"]
    assert made.resources == cubin.resources(own.data)


def test_options_of_nvrtc_for_the_assembler() -> None:
    assert nvrtc.assembler_options(["-maxrregcount=32", "-I.", "--ptxas-options=-O1,-v"]) == "-maxrregcount=32 -O1 -v"
    assert nvrtc.assembler_options(["--maxrregcount", "40", "-Xptxas", "-O2"]) == "-maxrregcount=40 -O2"
