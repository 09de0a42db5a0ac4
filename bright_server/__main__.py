"""`python -m bright_server` is `bright`."""

import sys

from bright_server.cli import main

sys.exit(main())
