"""What `lanewise bench`, `tune` and the measured column say where there is no card, no torch, too little memory."""

from types import SimpleNamespace

import pytest

import lanewise.bench
from lanewise.bench.fit import barred, fitting
from lanewise.cli import ladder as command
from lanewise.cli.main import main
from lanewise.errors import ExitCode, LimitReached
from lanewise.gpu import bindings, launcher
from lanewise.gpu.card import Card
from lanewise.ladder import load

T4 = Card(0, "Tesla T4", 75, 40, 63 << 10, 16 << 30)


@pytest.mark.parametrize("arguments", [["bench", "transpose"], ["bench", "--check"], ["tune", "scan", "bulk_copy"]])
def test_no_card(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def device(index: int) -> None:
        raise RuntimeError("CUDA_ERROR_NO_DEVICE: no CUDA-capable device\nmore of it")

    monkeypatch.setattr(bindings, "device_class", lambda: device)
    assert main(arguments) == ExitCode.ENVIRONMENT
    err = " ".join(capsys.readouterr().err.split())
    assert "no GPU: CUDA_ERROR_NO_DEVICE" in err
    assert "`lanewise ladder` counts without a GPU" in err


def test_no_cuda_core(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> None:
        raise ImportError("No module named 'cuda.core'")

    monkeypatch.setattr(bindings, "device_class", missing)
    assert main(["bench"]) == ExitCode.ENVIRONMENT
    assert "cuda-core is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "cooking"], "no subject 'cooking'"),
        (["bench", "--size", "8"], "--size needs one subject"),
        (["tune", "scan", "fast"], "no rung 'fast'"),
        (["tune", "cooking", "fast"], "no subject 'cooking'"),
        (["tune", "gemm", "tiled"], "gemm/tiled has nothing to search"),
        (["tune", "scan", "bulk_copy", "--size", "many"], "--size many is no problem of scan"),
        (["bench", "gemm", "--size", "8", "--type", "q7"], "gemm has no elements of type q7"),
        (["bench", "gemm", "--type", "bf16"], "--type needs --size"),
    ],
)
def test_unknown_names_are_said_before_a_card_is_looked_for(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_a_card_that_is_too_old_for_a_rung_is_left_out_of_it() -> None:
    gemm = load("gemm")
    old = barred(gemm, T4)
    assert "wgmma" in old
    assert "tiled" not in old
    plans = fitting(gemm, "f32", gemm.problem, T4)
    assert "tiled" in plans
    assert not set(plans) & set(old)


def test_out_of_device_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    results = SimpleNamespace(CUDA_SUCCESS=0, CUDA_ERROR_OUT_OF_MEMORY=2)
    monkeypatch.setattr(bindings, "driver", lambda: SimpleNamespace(CUresult=results))
    with pytest.raises(LimitReached, match="out of device memory") as caught:
        launcher.done((2, None))
    assert "smaller problem" in (caught.value.next_step or "")
    assert launcher.done((0, 7)) == 7


def test_the_table_says_why_nothing_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "present", lambda: T4)
    monkeypatch.setattr(command, "why_not", lambda: "torch, which times rungs, does not load: none")
    assert main(["ladder", "divergence", "--size", "32"]) == 0
    out = capsys.readouterr().out
    assert "not measured on Tesla T4: torch, which times rungs" in " ".join(out.split())
    assert "here: microseconds" not in out


def test_a_torch_without_cuda_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(lanewise.bench.importlib, "import_module", lambda name: torch)
    assert "without CUDA" in (lanewise.bench.why_not() or "")
