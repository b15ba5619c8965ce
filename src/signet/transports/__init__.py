"""The doors: one module each, thin, all onto the same server."""
