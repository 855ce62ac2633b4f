"""`python -m speed.child CASE JSON`: one case in this process; its result is the last line of the output."""

from __future__ import annotations

import json
import sys

from speed import pocl, program
from speed.cases import CASES


def main() -> None:
    cases = {**CASES, "pocl": pocl.gemm, "program": program.run}
    name, arguments = sys.argv[1:]
    print(json.dumps(cases[name](**json.loads(arguments))))


if __name__ == "__main__":
    main()
