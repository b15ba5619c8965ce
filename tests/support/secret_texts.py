"""Texts with made-up secrets: one of each shape that Signet recognises, and the kind that it is called."""

from __future__ import annotations

from typing import Final

__all__ = ["CORES", "RANDOM", "SECRETS"]

# Put together here, so that nothing in this file has the shape of a secret.
RANDOM: Final = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
SECRETS: Final = {
    "sk-" + "proj-" + RANDOM: "an API key of OpenAI or Anthropic",
    "sk-" + "ant-api03-" + RANDOM: "an API key of OpenAI or Anthropic",
    "ghp" + "_" + RANDOM + "1234": "a GitHub token",
    "ghu" + "_" + RANDOM + "1234": "a GitHub token",
    "ghr" + "_" + RANDOM + "1234": "a GitHub token",
    "github" + "_pat_" + RANDOM: "a GitHub token",
    "glpat" + "-" + RANDOM: "a GitLab token",
    "AKIA" + "Q3EGN7TZ5BWXK2LM": "an AWS access key",
    "ASIA" + "Q3EGN7TZ5BWXK2LM": "an AWS access key",
    "AIza" + RANDOM + "abc": "a Google API key",
    "xoxc" + "-123456789012-" + RANDOM: "a Slack token",
    "xoxb" + "-123456789012-" + RANDOM: "a Slack token",
    "sk" + "_live_" + RANDOM: "a Stripe key",
    "signet" + "_" + RANDOM + "-_aB3dE5fG7": "a token of Signet",
    "npm" + "_" + RANDOM + "1234": "an npm token",
    "pypi" + "-AgE" + RANDOM: "a PyPI token",
    "hf" + "_" + RANDOM: "a Hugging Face token",
    "eyJ" + RANDOM + ".eyJ" + RANDOM + "." + RANDOM: "a JSON Web Token",
    "-----BEGIN " + f"RSA PRIVATE KEY-----\n{RANDOM}\n-----END RSA PRIVATE KEY-----": "a private key",
    "-----BEGIN " + f"PGP PRIVATE KEY BLOCK-----\n\n{RANDOM}": "a private key",
    "-----BEGIN " + f"PRIVATE KEY-----\\n{RANDOM}": "a private key",
    "postgres://admin:" + "s3cr3tpw@db.internal/x": "a password in an address",
    "Authorization: Bearer " + RANDOM: "an authorization header",
    "password" + "=hunter2hunter2": "a password or token",
    "API_KEY" + ": " + RANDOM: "a password or token",
    '{"token": "' + RANDOM + '"}': "a password or token",
}
CORES: Final = (RANDOM, "Q3EGN7TZ5BWXK2LM", "s3cr3tpw", "hunter2hunter2")
"""The part of each text that must be written nowhere."""
