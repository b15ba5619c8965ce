"""Certificates that tests sign themselves."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_certificate(folder: Path, name: str, password: bytes | None = None) -> tuple[str, str]:
    """Write a certificate of one's own for localhost, and its key; return the two paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    day = dt.timedelta(days=1)
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number(), now - day, now + day)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    how = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)
    for path, content in (
        (folder / "cert.pem", certificate.public_bytes(serialization.Encoding.PEM)),
        (folder / "key.pem", pem),
    ):
        # As certificate tools do: a new file in place of the old one.
        (folder / "new").write_bytes(content)
        (folder / "new").replace(path)
    return str(folder / "cert.pem"), str(folder / "key.pem")
