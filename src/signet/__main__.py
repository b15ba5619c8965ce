"""`python -m signet`."""

import sys

from signet.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
