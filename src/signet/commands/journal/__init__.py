"""`signet journal` and `signet top`: what the journal says."""
