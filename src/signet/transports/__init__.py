"""The doors: one thin module each, all in front of the same server."""
