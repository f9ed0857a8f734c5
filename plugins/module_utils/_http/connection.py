"""The connection to the service: the validated options, the credentials, the TLS context, and the proxy."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from .._api.errors import InvalidOptions
from .._masking.masker import Masker, list_url_secrets

if TYPE_CHECKING:
    from .access_keys import AccessKey

# How the failure for a connection without an address begins.
MISSING_ADDRESS = "base_url is required"

# The timeout, in seconds, of a connection that only checks the TLS of the service.
HANDSHAKE_TIME = 5.0

# The schemes of proxies, with their default ports. Only the proxy of socks5h resolves the names of services.
PROXY_PORTS = {"http": 80, "https": 443, "socks5h": 1080, "socks5": 1080}

# The options of each credential for operations other than the cursor operations, in the order of precedence.
CREDENTIAL_OPTIONS = (("access_key_id", "access_key_secret"), ("session_id",), ("account", "account_password"))


@dataclass(frozen=True)
class ConnectionOptions:
    """The options of the doc fragment ``_connection``, validated. ``request_timeout`` is in seconds."""

    base_url: str
    path_prefix: str = "service"
    session_id: str | None = field(default=None, repr=False)
    account: str | None = None
    account_password: str | None = field(default=None, repr=False)
    access_key_id: str | None = None
    access_key_secret: str | None = field(default=None, repr=False)
    access_key_time_zone: str | None = None
    api_token: str | None = field(default=None, repr=False)
    validate_certs: bool = True
    ca_path: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    proxy_url: str | None = field(default=None, repr=False)
    use_proxy: bool = True
    request_timeout: float = 30
    request_retries: int = 8
    service_version: Any = None

    def __post_init__(self) -> None:
        if not self.base_url:
            raise InvalidOptions(
                f"{MISSING_ADDRESS}: the address of the service, for example https://manager.example.com (or"
                " VIRTINFRA_BASE_URL in the environment)"
            )
        _check_ends(self)
        if self.base_url != self.base_url.strip():
            raise InvalidOptions("base_url begins or ends with a blank. Remove it")
        try:
            parts = urlsplit(self.base_url)
            # urlsplit accepts an invalid port, and a host name that cannot be encoded; reading the port or encoding the
            # name raises ValueError.
            dummy = parts.port, str(parts.hostname).encode("idna")
        except ValueError as error:
            raise InvalidOptions(f"base_url cannot be used: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s*]", self.base_url):
            raise InvalidOptions("base_url must look like https://manager.example.com:8080")
        self._check_only_origin(parts)
        if not 0 < self.request_timeout <= 3600:
            raise InvalidOptions("request_timeout must be more than 0 and at most 3600 seconds")
        if not 0 <= self.request_retries <= 100:
            raise InvalidOptions("request_retries must be from 0 to 100")
        _check_path_prefix(self.path_prefix)
        self._check_credentials()
        if self.proxy_url:
            Proxy.parse(self.proxy_url, "proxy_url")
            if not self.use_proxy:
                raise InvalidOptions("proxy_url and use_proxy: false are mutually exclusive. Remove one of them")

    def _check_only_origin(self, parts: SplitResult) -> None:
        """Raise InvalidOptions if ``base_url`` contains more than scheme, host and port; the message names the surplus
        part."""
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if "@" in parts.netloc:
            raise InvalidOptions(
                "base_url must not contain an account. Give it with account and account_password, and set base_url to"
                f" {origin}"
            )
        if parts.path.strip("/") or parts.query or parts.fragment:
            prefix = parts.path.strip("/").partition("/v1")[0]
            hint = "" if not prefix or parts.fragment else " The part of the path before v1 belongs to path_prefix."
            raise InvalidOptions(f"base_url must contain only scheme, host and port.{hint} Set base_url to {origin}")

    def _check_credentials(self) -> None:
        for name in ("session_id", "access_key_id", "access_key_secret", "api_token"):
            if not re.fullmatch(r"[\x21-\x7e]*", getattr(self, name) or ""):
                scheme = re.match(r"(?i)(oauth|bearer)\s", getattr(self, name))
                hint = f". Give it without the word {scheme[1]}" if scheme else ""
                raise InvalidOptions(f"{name} must be printable ASCII without spaces{hint}")
        if bool(self.access_key_id) != bool(self.access_key_secret):
            raise InvalidOptions(
                "access_key_id and access_key_secret (or VIRTINFRA_ACCESS_KEY_ID and VIRTINFRA_ACCESS_KEY_SECRET in the"
                " environment) are needed together"
            )
        _check_zone(self.access_key_time_zone)
        if self.account and not (self.account_password or self.session_id or self.access_key_id):
            # An entry of an inventory with an account replaces the password of the environment by an empty text.
            place = " (or VIRTINFRA_ACCOUNT_PASSWORD in the environment)" if self.account_password is None else ""
            raise InvalidOptions(f"account needs account_password{place}")
        _check_needed(self)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> ConnectionOptions:
        """Select the options of the connection from the validated options of a task or plugin.

        A plugin may lack some of them.
        """
        values = {option.name: params[option.name] for option in fields(cls) if option.name in params}
        return cls(**{**values, "base_url": params["base_url"] or ""})

    def create_masker(self) -> Masker:
        """Return a masker of the credentials."""
        # Services repeat an unknown id. With id and secret exchanged, it is the secret, which is longer than an id.
        key_id, key_secret = self.access_key_id or "", self.access_key_secret or ""
        exchanged = key_id if len(key_id) > len(key_secret) else ""
        secrets = (self.session_id, key_secret, exchanged, self.api_token, self.account_password)
        return Masker([*filter(None, secrets), *list_url_secrets(self.proxy_url or "")])

    @property
    def access_key(self) -> AccessKey | None:
        """The access key, which takes precedence over a session and an account; None without one."""
        return _create_access_key(self)

    @property
    def can_query(self) -> bool:
        """Whether there is a credential for operations other than the cursor operations."""
        return bool(self.access_key_id or self.session_id or self.account)

    @property
    def needs_login(self) -> bool:
        """Whether the session comes from the account."""
        return bool(self.account and not (self.session_id or self.access_key_id))

    def describe_credentials(self) -> str:
        """Return which of the credentials are used, without secrets; empty if there are none."""
        main = f"account {self.account}" if self.needs_login else "session_id" if self.session_id else ""
        main = f"access key {self.access_key_id}" if self.access_key_id else main
        return ", ".join(filter(None, [main, "api_token for cursor queries" if self.api_token else ""]))

    @property
    def origin(self) -> str:
        """Scheme, host and port, without a slash at the end."""
        return self.base_url.rstrip("/")

    @property
    def service_url(self) -> str:
        """The URL of the service, without a slash at the end."""
        return f"{self.origin}/{self.path_prefix.strip('/')}".rstrip("/")

    @property
    def uses_tls(self) -> bool:
        """Whether the service is reached with TLS."""
        return self.base_url.lower().startswith("https:")

    def build_tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context for the service, None for plain http."""
        if not self.uses_tls:
            return None
        return build_tls_context(self.validate_certs, self.ca_path, self.client_cert, self.client_key)

    def build_proxy_tls_context(self, proxy: Proxy) -> ssl.SSLContext | None:
        """Return a new TLS context for a proxy, None for one without TLS. It does not send the client certificate."""
        return build_tls_context.__wrapped__(self.validate_certs, self.ca_path, None, None) if proxy.uses_tls else None

    def list_certificate_names(self) -> list[str]:
        """Return the names and addresses for which the certificate of the service is valid.

        This opens another connection. The list is empty if that fails, or if no authority confirms the certificate.
        """
        context = build_tls_context.__wrapped__(True, self.ca_path, self.client_cert, self.client_key)
        context.check_hostname = False
        with suppress(OSError), self.connect_by_tls(context) as connection:
            certificate: Mapping[str, Any] = connection.getpeercert() or {}
            return [str(name) for dummy, name in certificate.get("subjectAltName", ())]
        return []

    def is_tls_port(self) -> bool:
        """Return whether the port of the service completes a TLS handshake, which opens another connection."""
        with suppress(OSError), self.connect_by_tls(build_tls_context(False, None, None, None)):
            return True
        return False

    @contextmanager
    def connect_by_tls(self, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
        """Return a connection with TLS to the port of the service, on which nothing is sent."""
        parts = urlsplit(self.base_url)
        address = (str(parts.hostname), parts.port or (443 if self.uses_tls else 80))
        with (
            socket.create_connection(address, timeout=HANDSHAKE_TIME) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as connection,
        ):
            yield connection

    @cached_property
    def proxy(self) -> Proxy | None:
        """The proxy of ``proxy_url``, or else that of the environment for the service; None without one."""
        if self.proxy_url:
            variable = "VIRTINFRA_PROXY_URL"
            is_of_environment = os.environ.get(variable) == self.proxy_url
            return Proxy.parse(self.proxy_url, variable if is_of_environment else "proxy_url")
        # Reading the proxies takes 0.4 ms and an import, so it is skipped if no environment variable names one.
        if not self.use_proxy or not any(name.lower().endswith("_proxy") for name in os.environ):
            return None
        from requests.utils import get_environ_proxies, select_proxy

        url = select_proxy(self.origin, get_environ_proxies(self.origin))
        if not url:
            return None
        return Proxy.parse(url if "://" in url else f"http://{url}", self._find_proxy_variable())

    def _find_proxy_variable(self) -> str:
        """Return the environment variable that the proxy comes from, empty if it comes from the operating system."""
        scheme = "https" if self.uses_tls else "http"
        names = (case(f"{kind}_proxy") for kind in (scheme, "all") for case in (str.lower, str.upper))
        return next((name for name in names if os.environ.get(name)), "")


def _check_ends(options: ConnectionOptions) -> None:
    """Raise InvalidOptions for a line break at the end, as lookups leave there, and for quotes."""
    for name in ("base_url", *(name for names in CREDENTIAL_OPTIONS for name in names), "api_token"):
        if (getattr(options, name) or "").endswith(("\n", "\r")):
            raise InvalidOptions(f"{name} ends with a line break. Remove it, for example with the filter trim")
    for name in ("base_url", "account", "session_id", "access_key_id"):
        if re.fullmatch(r"""(['"]).*\1""", getattr(options, name) or ""):
            raise InvalidOptions(f"{name} begins and ends with a quote, which is a part of the value. Remove both")
    if re.search(r"\S[\s,;]+https?://", options.base_url):
        raise InvalidOptions(
            "base_url contains the addresses of several services. Give one: each service has a task of its own, or an"
            " entry in the option services of an inventory"
        )


def _check_needed(options: ConnectionOptions) -> None:
    """Raise InvalidOptions for an option that does nothing without another one.

    The environment may serve several tasks, and some of them give another credential.
    """
    for name, needed in (("account_password", "account"), ("client_key", "client_cert")):
        value = getattr(options, name)
        if value and not getattr(options, needed) and os.environ.get(f"VIRTINFRA_{name.upper()}") != value:
            raise InvalidOptions(f"{name} needs {needed} (or VIRTINFRA_{needed.upper()} in the environment)")


# Few module processes use an access key, so the others do not load the code for it.


def _check_zone(zone: str | None) -> None:
    """Raise InvalidOptions for a time zone that does not exist."""
    if zone:
        from .access_keys import parse_zone

        parse_zone(zone)


def _create_access_key(options: ConnectionOptions) -> AccessKey | None:
    """Return the access key of the options, None without one."""
    if not (options.access_key_id and options.access_key_secret):
        return None
    from .access_keys import AccessKey, parse_zone

    zone = parse_zone(options.access_key_time_zone)
    return AccessKey(options.access_key_id, options.access_key_secret, options.path_prefix, zone)


@dataclass(frozen=True)
class Proxy:
    """A proxy. ``source`` is the option or the environment variable that names it, or empty."""

    url: str = field(repr=False)
    source: str

    @classmethod
    def parse(cls, url: str, source: str) -> Proxy:
        """Return the proxy with this URL, in the form that requests needs. Raise InvalidOptions if it is invalid."""
        try:
            parts = urlsplit(url)
            port = parts.port or PROXY_PORTS.get(parts.scheme)
            is_known = parts.scheme in PROXY_PORTS and parts.port != 0
            is_valid = is_known and parts.hostname and not re.search(r"\s", url)
            if parts.scheme in ("http", "https"):
                # requests sends the credentials in this encoding.
                unquote(f"{parts.username}{parts.password}").encode("latin-1")
        except ValueError:
            is_valid = False
        if not is_valid or parts.path.strip("/") or parts.query or parts.fragment:
            name = source if source == "proxy_url" else f"the variable {source}" if source else "the proxy"
            remedy = "" if source.lower().endswith("proxy_url") else ". Change it, or set use_proxy to false"
            raise InvalidOptions(
                f"{name} must have the form http://HOST:3128, or begin with https://, socks5h:// or"
                " socks5://. In a user name and a password, / is written as %2F, @ as %40, # as %23 and % as %25"
                f"{remedy}"
            )
        login, at, address = parts.netloc.rpartition("@")
        # requests ignores a user name without a password.
        login += ":" if login and parts.password is None else ""
        address = address if parts.port else f"{address.rstrip(':')}:{port}"
        return cls(f"{parts.scheme}://{login}{at}{address}", source)

    @property
    def address(self) -> str:
        """The host and the port."""
        return self.url.rpartition("://")[2].rpartition("@")[2]

    @property
    def uses_tls(self) -> bool:
        """Whether the connection to the proxy uses TLS."""
        return self.url.startswith("https:")

    @property
    def needs_socks(self) -> bool:
        """Whether the library PySocks is needed."""
        return self.url.startswith("socks")


# What a request is authorized with: an Authorization header, an access key, or nothing.
Authorization: TypeAlias = "str | AccessKey | None"


class SessionSource(Protocol):
    """The source of the session for the calls of a client."""

    @property
    def credential(self) -> str:
        """The kind of the credential, one of CREDENTIALS in ``_api/errors.py``."""

    def get_session(self) -> str | None:
        """Return the session, None without one."""

    def renew(self, refused: str) -> str | None:
        """Return a session other than the one that the service refused, None if there is no other."""

    def validate(self) -> None:
        """Replace the session, if possible, when the service says that it is invalid."""


class GivenSession(NamedTuple):
    """The session of the option ``session_id``, or None with an access key. Only the user can replace them."""

    session_id: str | None
    credential: str = "session_id"

    def get_session(self) -> str | None:
        """Return the session, None without one."""
        return self.session_id

    def renew(self, refused: str) -> None:
        """Return None: there is no other session."""

    def validate(self) -> None:
        """Do nothing: there is no other session."""


def _check_path_prefix(path_prefix: str) -> None:
    if not re.fullmatch(r"[\w./~%-]*", path_prefix, re.ASCII):
        raise InvalidOptions("path_prefix must consist of letters, digits and . / _ ~ % -")
    if re.search(r"(^|/)v1/*$", path_prefix):
        prefix = path_prefix.rstrip("/").removesuffix("v1").strip("/")
        raise InvalidOptions(f"path_prefix is the part of the path before v1. Set path_prefix to {prefix!r}")


def require_files(**paths: str | None) -> None:
    """Raise InvalidOptions for a file of an option that does not exist; without TLS, nothing else reads it."""
    for name, path in paths.items():
        if path and not Path(path).exists():
            raise InvalidOptions(f"{name} {path} cannot be used: there is no such file")


def _has_only_certificates(path: str) -> bool:
    """Return whether a file has a certificate, and no private key."""
    with suppress(OSError):
        content = Path(path).read_bytes()
        return b"BEGIN CERTIFICATE-----" in content and b"PRIVATE KEY-----" not in content
    return False


def _is_encrypted(path: str) -> bool:
    """Return whether a file has a private key with a password."""
    with suppress(OSError):
        return re.search(rb"BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED", Path(path).read_bytes()) is not None
    return False


def _trust(ca_path: str, validate: bool) -> ssl.SSLContext:
    """Return a context that trusts the certificates of a file or a folder."""
    if not Path(ca_path).is_dir():
        return ssl.create_default_context(cafile=ca_path)
    context = ssl.create_default_context(capath=ca_path)
    # In a folder OpenSSL finds only files that are named after their hash, but users store files with any name.
    files = sorted(Path(ca_path).glob("*.[cp][er][rtm]"))
    if validate and not files and not any(Path(ca_path).glob("[0-9a-f]*.[0-9]")):
        raise InvalidOptions(
            f"ca_path {ca_path} has no certificates: in a folder, they are files with the ending .pem, .crt or .cer, or"
            " with the names that openssl rehash gives"
        )
    for file in files:
        context.load_verify_locations(file)
    return context


def _explain_client_cert(cert: str, key: str | None) -> str:
    """Return what is wrong with the files of a client certificate, and what to do; empty if it is not known."""
    if key is None and _has_only_certificates(cert):
        return f"client_cert {cert} contains no private key. Give client_key"
    if key and _has_only_certificates(key) and not _has_only_certificates(cert):
        return f"client_key {key} is a certificate. Exchange client_cert and client_key"
    if _is_encrypted(key or cert):
        return (
            f"the private key in {key or cert} is encrypted, and no option has its password. Decrypt it, for example"
            f" with openssl pkey -in {key or cert}, into a file that only you can read"
        )
    return ""


@lru_cache(maxsize=8)
def build_tls_context(validate: bool, ca_path: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    """Return the TLS context for these options. It is created once per process, because this takes 15 ms."""
    try:
        context = _trust(ca_path, validate) if ca_path is not None else ssl.create_default_context()
    except (OSError, ssl.SSLError) as error:
        raise InvalidOptions(f"ca_path {ca_path} cannot be used: {error}") from error
    if not validate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert:
        try:
            # Without a callback OpenSSL would ask for the password of an encrypted key at the terminal.
            context.load_cert_chain(cert, key, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            if reason := _explain_client_cert(cert, key):
                raise InvalidOptions(reason) from None
            raise InvalidOptions(f"client_cert {cert} with client_key {key or cert} cannot be used: {error}") from error
    return context
