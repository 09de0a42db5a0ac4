"""A certificate for the page's host names, made when the page starts."""

from __future__ import annotations

import base64
import hashlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from extension_harness.errors import HarnessIncompleteError

try:
    import trustme
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ModuleNotFoundError as cause:
    raise HarnessIncompleteError(cause.name or "trustme") from cause

TlsFactory = Callable[[uvicorn.Config, Callable[[], ssl.SSLContext]], ssl.SSLContext]
PAGE_HOST = "onetalk.alibaba.com"
HOSTS = (
    PAGE_HOST,
    "message.alibaba.com",
    "login.alibaba.com",
    "alicrm.alibaba.com",
    "wss-icbu.dingtalk.com",
    "sc04.alicdn.com",
    "clouddisk.alibaba.com",
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A server certificate of an authority that nobody trusts.

    `spki` is what Chromium's --ignore-certificate-errors-spki-list takes;
    `authority_pem` is for clients that check the certificate.
    """

    leaf: trustme.LeafCert
    authority_pem: bytes
    spki: str

    def server_context(
        self, config: uvicorn.Config, default: Callable[[], ssl.SSLContext]
    ) -> ssl.SSLContext:
        """Return a server's context that presents this certificate (uvicorn asks)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.leaf.configure_cert(context)
        return context


def make_certificate() -> Certificate:
    """Return a fresh certificate for every host of the page and for this machine."""
    authority = trustme.CA()
    leaf = authority.issue_cert(*HOSTS, "localhost", "127.0.0.1")
    parsed = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
    public = parsed.public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    )
    spki = base64.b64encode(hashlib.sha256(public).digest()).decode()
    return Certificate(leaf, authority.cert_pem.bytes(), spki)


def host_rules(port: int) -> str:
    """Return the value of Chromium's --host-resolver-rules for a page on `port`."""
    return ", ".join(f"MAP {host}:443 127.0.0.1:{port}" for host in HOSTS)
