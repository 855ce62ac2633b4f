"""`lanewise.kernels` on arrays of torch, CuPy and numba, on a real card (skipped where there is none)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanewise import kernels
from lanewise.errors import UsageError
from lanewise.gpu.card import present

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(present() is None, reason="no GPU")


def libraries() -> dict[str, Callable[[np.ndarray], Any]]:
    made: dict[str, Callable[[np.ndarray], Any]] = {"torch": lambda values: torch.from_numpy(values.copy()).cuda()}
    try:
        import cupy

        made["cupy"] = cupy.asarray
    except ImportError:
        pass
    try:
        from numba import cuda

        made["numba"] = cuda.to_device
    except ImportError:
        pass
    return made


def host(array: Any) -> np.ndarray:
    if hasattr(array, "copy_to_host"):
        return array.copy_to_host()
    if hasattr(array, "get"):
        return array.get()
    return array.cpu().numpy()


library = pytest.mark.parametrize("library", libraries())
rng = np.random.default_rng(5)


def near(out: np.ndarray, reference: np.ndarray, limit: float = 2e-6) -> bool:
    return bool(np.linalg.norm(out.astype(np.float64) - reference) <= limit * np.linalg.norm(reference))


@library
@pytest.mark.parametrize("shape", [(1, 1), (37, 101), (256, 512), (1000, 24)])
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32, np.int64])
def test_transpose(library: str, shape: tuple[int, int], kind: type) -> None:
    x = rng.integers(0, 100, shape).astype(kind)
    assert np.array_equal(host(kernels.transpose(libraries()[library](x))), x.T)


@library
@pytest.mark.parametrize("n", [1, 997, 100_003])
def test_sums_and_scans(library: str, n: int) -> None:
    x = rng.uniform(0, 1, n).astype(np.float32)
    there = libraries()[library](x)
    assert near(host(kernels.reduce(there)), x.astype(np.float64).sum())
    assert near(host(kernels.scan(there)), x.astype(np.float64).cumsum())


@library
@pytest.mark.parametrize("bins", [1, 256, 20_000])
def test_histogram(library: str, bins: int) -> None:
    keys = rng.integers(-2, bins + 2, 10_007).astype(np.int32)
    counted = np.bincount(keys[(keys >= 0) & (keys < bins)], minlength=bins)
    assert np.array_equal(host(kernels.histogram(libraries()[library](keys), bins)), counted)


@library
@pytest.mark.parametrize("shape", [(3, 7), (2, 5, 1024), (3, 16384), (2, 100_000)])
def test_rows(library: str, shape: tuple[int, ...]) -> None:
    x = rng.uniform(-3, 3, shape).astype(np.float32)
    weight, bias = (rng.uniform(-1, 1, shape[-1]).astype(np.float32) for _ in range(2))
    to = libraries()[library]
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    assert near(host(kernels.softmax(to(x))), e / e.sum(-1, keepdims=True))
    off = wide - wide.mean(-1, keepdims=True)
    normal = off / np.sqrt((off**2).mean(-1, keepdims=True) + 1e-5) * weight + bias
    assert near(host(kernels.layernorm(to(x), to(weight), to(bias))), normal)


@library
@pytest.mark.parametrize("shape", [(1, 1, 1), (67, 131, 37), (256, 128, 64)])
def test_products(library: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = rng.uniform(-1, 1, (m, k)).astype(np.float32), rng.uniform(-1, 1, (k, n)).astype(np.float32)
    to = libraries()[library]
    assert near(host(kernels.gemm(to(a), to(b))), a.astype(np.float64) @ b)
    whole_a, whole_b = (rng.integers(-99, 99, shape).astype(np.int32) for shape in ((m, k), (k, n)))
    assert np.array_equal(host(kernels.gemm(to(whole_a), to(whole_b))), whole_a @ whole_b)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(256, 512, 64), (33, 65, 17), (1000, 2000, 520)])
@pytest.mark.parametrize("layout", range(4))
def test_products_on_tensor_cores(kind: str, shape: tuple[int, int, int], layout: int) -> None:
    m, n, k = shape
    a = torch.rand((k, m) if layout & 1 else (m, k), device="cuda").sub(0.5).to(getattr(torch, kind))
    b = torch.rand((n, k) if layout & 2 else (k, n), device="cuda").sub(0.5).to(getattr(torch, kind))
    a, b = a.t() if layout & 1 else a, b.t() if layout & 2 else b
    product = kernels.gemm(a, b)
    assert product.dtype == a.dtype
    assert near(product.double().cpu().numpy(), (a.double() @ b.double()).cpu().numpy(), 8e-3)


def test_bf16_rows_and_out_and_streams() -> None:
    x = torch.rand(64, 4096, device="cuda").to(torch.bfloat16)
    out = torch.empty_like(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert kernels.softmax(x, out=out) is out
    stream.synchronize()
    assert near(out.double().cpu().numpy(), torch.softmax(x.double(), -1).cpu().numpy(), 8e-3)


def test_what_is_not_finite_is_as_torch_has_it() -> None:
    x = torch.rand(6, 2048, device="cuda")
    x[0, 5], x[1, 7], x[2, 9], x[3, :] = float("nan"), float("inf"), -float("inf"), -float("inf")
    assert torch.equal(kernels.softmax(x).isnan(), torch.softmax(x, -1).isnan())
    weight = torch.ones(2048, device="cuda")
    normal = torch.nn.functional.layer_norm(x, (2048,), weight, weight)
    assert torch.equal(kernels.layernorm(x, weight, weight).isnan(), normal.isnan())
    for row in x:
        assert torch.allclose(kernels.reduce(row), row.sum(), rtol=1e-5, equal_nan=True)
        scanned, expected = kernels.scan(row), row.cumsum(0)
        assert torch.allclose(scanned, expected, rtol=1e-4, equal_nan=True)
    a, b = torch.rand(256, 256, device="cuda"), torch.rand(256, 256, device="cuda")
    a[3, 4], b[100, 200] = float("nan"), float("inf")
    for kind in (torch.float32, torch.bfloat16):
        product = kernels.gemm(a.to(kind), b.to(kind))
        assert torch.equal(product.isnan(), torch.mm(a.to(kind), b.to(kind)).isnan())


def test_an_address_off_the_vectors_takes_another_rung() -> None:
    x = torch.rand(100_001, device="cuda")[1:]
    assert near(kernels.reduce(x).cpu().numpy(), x.double().sum().cpu().numpy())
    assert near(kernels.scan(x).cpu().numpy(), x.double().cumsum(0).cpu().numpy())


def test_what_does_not_fit_is_said() -> None:
    x = torch.rand(8, 8, device="cuda")
    with pytest.raises(UsageError, match="strides"):
        kernels.softmax(x.t())
    with pytest.raises(UsageError, match="elements of type f64"):
        kernels.scan(x.double().flatten())
    with pytest.raises(UsageError, match="no array on a GPU"):
        kernels.transpose(x.cpu())
    with pytest.raises(UsageError, match="a is f32"):
        kernels.gemm(x, x[:3])
    with pytest.raises(UsageError, match="out is"):
        kernels.transpose(x, out=torch.empty(3, 8, device="cuda"))
