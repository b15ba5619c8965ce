"""`signet doctor`: what is installed, configured and reachable, what is wrong, and what to type.

environment, flags ── Settings ── checkups ──▶ Check, Check, … ── command ──▶ Finding, Finding, … ──▶ table or JSON
                                      └─ Toolset.checks
"""
