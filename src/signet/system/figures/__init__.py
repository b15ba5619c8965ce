"""The figures of a server: one registry for all that counts, and for all that shows what was counted."""
