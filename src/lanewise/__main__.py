"""`python -m lanewise` is `lanewise`."""

import sys

from lanewise.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
