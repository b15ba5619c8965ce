"""The configuration: settings from flags, environment and `signet.toml`, each with its origin."""
