"""The program: `bundlenet`, or `python -m bundlenet`."""

from __future__ import annotations

import signal
import sys

from ._bundlenet import run_program


def main() -> int:
    """Runs the program with the arguments of the command line and returns its exit code."""
    # Otherwise Python would delay Ctrl-C until the program returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_program(["bundlenet", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
