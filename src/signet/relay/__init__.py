"""The relay: other people's servers, how they are reached and what they say."""
