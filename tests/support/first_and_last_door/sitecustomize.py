"""With this folder in PYTHONPATH, `signet parity` and `signet check` call tools through the first and the last door.

For tests of what these commands print, read and write: a process for each of eight doors is most of their time.
"""

import sys

if {"parity", "check"} & set(sys.orig_argv):
    from signet.commands.parity import engine

    engine.CHANNELS = [engine.CHANNELS[0], engine.CHANNELS[-1]]
