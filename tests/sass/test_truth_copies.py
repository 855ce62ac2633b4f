"""Asynchronous copies: what their machine instructions were counted to do, against what an H200 counted.

`tests/truth/async_copies.cu` is 244 launches of one warp and three of a kernel with two stages.
"""

from __future__ import annotations

from test_truth import cases, compare, launches


def test_asynchronous_copies() -> None:
    found = launches("async_copies")
    agreement = compare("async_copies", found)
    assert agreement.compared["global", "sectors"] > 300
    assert agreement.compared["shared", "wavefronts"] > 500
    assert agreement.equal == agreement.compared, agreement.table()
    truth = cases("async_copies")
    ours = {case: (launch.instructions, launch.thread_instructions) for case, launch in found.items()}
    assert ours == {case: (truth[case]["instructions"], truth[case]["thread_instructions"]) for case in found}
