"""`python -m lanewise` is `lanewise`."""

import sys

from lanewise.cli.main import main

sys.exit(main())
