"""Parity: run one corpus of calls through every channel and compare the results.

    corpus ── engine ──┬── eight channels, a process and a journal each ──▶ replies, records ── report ──▶ command
                       └── upstreams: one sandbox per toolset, shared by all channels

`engine.run_corpus` takes the command lines of the processes from its caller, so that other servers can be compared.
"""
