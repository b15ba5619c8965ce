"""Other people's servers under contract: how they are reached, spoken to and relayed."""
