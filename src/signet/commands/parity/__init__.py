"""Parity: one corpus of calls through every way in, and proof that each means the same.

    corpus ── engine ──┬── eight ways, a process and a journal each ──▶ answers, records ── board ──▶ table, diff
                       └── upstreams: one sandbox of each kind, seen by all

`engine.play` takes the command lines of the processes from its caller, so that others can be held to the same proof.
"""
