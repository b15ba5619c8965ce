"""The figures of a source tree of Signet: its modules, their imports, the walks of calls and the mechanisms."""
