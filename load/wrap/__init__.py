"""The load of a wrapped server: many calls through `signet wrap` while its server is killed again and again."""
