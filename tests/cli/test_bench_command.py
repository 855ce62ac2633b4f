"""`lanewise bench` and `lanewise tune` on a machine without a GPU: one message; usage is checked first."""

import pytest

from lanewise.cli.main import main
from lanewise.errors import ExitCode
from lanewise.gpu.card import present


@pytest.mark.skipif(present() is not None, reason="there is a GPU")
@pytest.mark.parametrize("arguments", [["bench", "gemm"], ["tune", "scan", "bulk_copy"]])
def test_without_a_gpu_it_says_so(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == ExitCode.ENVIRONMENT
    said = capsys.readouterr().err
    assert "lanewise: no GPU" in said
    assert "next:" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "cooking"], "no subject 'cooking'"),
        (["bench", "gemm", "scan", "--size", "64"], "--size needs one subject"),
        (["tune", "scan", "fast"], "no rung 'fast'"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == ExitCode.USAGE
    assert message in capsys.readouterr().err
