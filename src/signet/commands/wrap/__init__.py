"""`signet wrap`: any server under contract."""
