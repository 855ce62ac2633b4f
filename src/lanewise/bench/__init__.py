"""Times on a real card: rungs of the ladder beside what a user would call instead. Needs torch; takes CuPy."""

from __future__ import annotations

import importlib


def why_not() -> str | None:
    """Why nothing can be timed, though there may be a card: torch does it. None where it can."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        return f"torch, which times rungs, does not load: {error}"
    return None if torch.cuda.is_available() else "this torch, which times rungs, was built without CUDA"
