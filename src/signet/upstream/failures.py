"""Failures of the network in words: what happened at which address, and what to check.

No sentence has the name of a class or the text of a library in it. Imported with the first request, like aiohttp.
"""

from __future__ import annotations

import os
import ssl
from typing import Final

import aiohttp

from signet.kernel.upstream import CUT_GZIP, MAX_INTERIM, NOT_GZIP
from signet.system.interim_responses import InterimError

from .egress import ProxyError

__all__ = ["describe"]

PROXY_VARIABLES: Final = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"

NOT_TLS: Final = "{address} does not speak TLS: check whether {setting} should begin with http://"
NOT_TLS_REASONS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
"""What OpenSSL makes of an answer in plain text; which of them depends on its version."""
HUNG_UP: Final = "{address} ended the connection without an answer{why}: check that the service is well, and {setting}"
TOO_MANY_INTERIM: Final = (
    f"{{address}} sends more than {MAX_INTERIM} informational answers (1xx) and no result: check that the service is "
    "well, and {setting}"
)
NOT_HTTP: Final = "{address} answers with something that is not HTTP: check {setting}"

SENTENCES: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...]] = (
    (
        aiohttp.ClientConnectorCertificateError,
        "the certificate of {address} is not trusted{why}: check {setting}, or name its authority in SSL_CERT_FILE",
    ),
    (aiohttp.ClientSSLError, "{address} refuses TLS{why}: check {setting}, and which versions of TLS it speaks"),
    (
        aiohttp.ClientConnectorDNSError,
        "the host name of {address} is not known: check how it is spelled in {setting}, and the network",
    ),
    (
        aiohttp.ClientProxyConnectionError,
        f"the proxy on the way to {{address}} cannot be reached{{why}}: check {PROXY_VARIABLES}",
    ),
    (
        aiohttp.ClientHttpProxyError,
        f"the proxy on the way to {{address}} refuses to lead there{{why}}: check {PROXY_VARIABLES}",
    ),
    (
        aiohttp.ClientConnectorError,
        "nothing answers at {address}{why}: check that the service is running, and {setting}",
    ),
    (
        aiohttp.ClientPayloadError,
        "{address} ended the connection in the middle of its answer: try again, and check the service if it stays so",
    ),
    (
        (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, aiohttp.RedirectClientError, ValueError),
        "{address} redirects to an address that cannot be used: check {setting}",
    ),
    (InterimError, TOO_MANY_INTERIM),
    (aiohttp.ClientResponseError, NOT_HTTP),
    ((aiohttp.ClientConnectionError, ConnectionError), HUNG_UP),
)
"""The sentence for each kind of failure; the first that fits counts."""
OTHER: Final = "the connection to {address} failed{why}: check the network, and {setting}"


def describe(error: Exception, address: str, setting: str) -> str:
    """Return a sentence on a failure at an address; `setting` says where the address was set."""
    if str(error) in {CUT_GZIP, NOT_GZIP} or isinstance(error, ProxyError):
        return str(error)
    sentence = next((sentence for kinds, sentence in SENTENCES if isinstance(error, kinds)), OTHER)
    cause = getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLError) and cause.reason in NOT_TLS_REASONS:
        sentence = NOT_TLS
    elif isinstance(cause, ConnectionError) and not isinstance(cause, ConnectionRefusedError):
        # Also while TLS is being agreed on, when there is no connection yet for aiohttp.
        sentence = HUNG_UP
    if sentence is NOT_HTTP and address.startswith("http://"):
        sentence += ", and whether it should begin with https://"
    why = _reason(error)
    return sentence.format(address=address, setting=setting, why=f" ({why})" if why else "")


def _reason(error: Exception) -> str:
    """Return the reason that the system, the certificate or a proxy gives, or an empty text."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"status {error.status}"
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return str(cause.verify_message).rstrip(".")
    if isinstance(cause, ssl.SSLError):
        return str(cause.reason or "").replace("_", " ").lower()
    number = getattr(cause, "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number > 0 else ""
