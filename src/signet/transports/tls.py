"""The certificate of a server: read from two files, and again when they change."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from time import monotonic
from typing import Final

__all__ = ["Certificate", "load_context"]

LOOK_S: Final = 1.0
"""The time between two looks at the files."""


def load_context(certificate: str, key: str) -> ssl.SSLContext:
    """Return a context for a server with a certificate and its private key, both PEM.

    Raises:
        OSError: a file cannot be read, or is not what it should be; `ssl.SSLError` is one of these.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # A key with a passphrase would otherwise ask for it on the terminal.
    context.load_cert_chain(certificate, key, password=lambda: b"")
    return context


class Certificate:
    """The certificate that new connections get."""

    def __init__(self, certificate: str, key: str, warn: Callable[[str], None]) -> None:
        self._files = certificate, key
        self._warn = warn
        self._versions = self._stat()
        self._context = load_context(certificate, key)
        self._looked_s = monotonic()

    def context(self) -> ssl.SSLContext:
        """Return the context of the present certificate; one that cannot be loaded leaves the last one in use."""
        if monotonic() - self._looked_s >= LOOK_S:
            self._looked_s = monotonic()
            versions = self._stat()
            if versions != self._versions:
                self._versions = versions
                self._reload()
        return self._context

    def _reload(self) -> None:
        try:
            self._context = load_context(*self._files)
        except OSError as error:
            self._warn(f"the certificate has changed and cannot be loaded, the last one stays in use: {error}")

    def _stat(self) -> list[tuple[int, int, int] | None]:
        return [_version(path) for path in self._files]


def _version(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
