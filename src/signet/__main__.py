"""`python -m signet`."""

import sys

from signet.cli import main

if __name__ == "__main__":
    sys.exit(main())
