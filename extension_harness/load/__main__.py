"""`python -m extension_harness.load`: the same as `bright load`."""

from __future__ import annotations

import argparse
import sys

from extension_harness.load.cli import add_arguments, main

parser = argparse.ArgumentParser(prog="bright load")
add_arguments(parser)
sys.exit(main(parser.parse_args()))
