"""Who calls: tokens, and what they allow."""
