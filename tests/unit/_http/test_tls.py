"""TLS with certificates of a private authority, and connections through a proxy."""

from __future__ import annotations

import base64
import datetime
import errno
import re
import socket
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from ansible_collections.virtinfra.manager.plugins.module_utils._api.errors import (
    InvalidOptions,
    ResponseLost,
    TransportError,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._client.lists import query
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import (
    ConnectionOptions,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.failures import Peer, read_error
from ansible_collections.virtinfra.manager.plugins.module_utils._http.tls_state import format_time, read_tls_state
from conftest import FakeClock
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from simulator.launch import Simulator
from support.clients import make_client
from support.socket_servers import Proxy, SocketServer, taken_port
from support.stub_server import TLS_ALERT, StubResponse, StubServer
from support.tls import untrusted_context

SESSION = "c81e728d9d4c2f636f067f89cc14862c"


class Authority:
    """A certificate authority and its certificates, as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority = folder, trustme.CA()
        self.ca = str(folder / "authority.pem")
        self.authority.cert_pem.write_to_path(self.ca)

    def issue(self, name: str, **details: Any) -> tuple[str, str]:
        """Issue a certificate for a name; return the paths of its file and of its key's."""
        issued = self.authority.issue_cert(name, **details)
        paths = [str(self.folder / f"{len(list(self.folder.iterdir()))}.{kind}") for kind in ("cert", "key")]
        issued.private_key_pem.write_to_path(paths[1])
        for blob in issued.cert_chain_pems:
            blob.write_to_path(paths[0], append=True)
        return paths[0], paths[1]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def server_context(authority: Authority, name: str, requires_certificate: bool, **details: Any) -> ssl.SSLContext:
    """Return the TLS context of a server with a certificate for a name.

    With ``requires_certificate``, only clients with a certificate of the authority can connect.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.ca)
    context.load_cert_chain(*authority.issue(name, **details))
    context.verify_mode = ssl.CERT_REQUIRED if requires_certificate else ssl.CERT_NONE
    return context


def serving(authority: Authority, name: str, requires_certificate: bool = False, **details: Any) -> StubServer:
    """Return a service of three hosts with the context of ``server_context``."""
    context = server_context(authority, name, requires_certificate, **details)
    hosts = [{"uuid": f"{number:032x}", "name": f"host-{number}"} for number in range(3)]
    return StubServer(lambda request: StubResponse(200, {"inventories": hosts, "total": 3}), context)


@pytest.fixture
def secure(authority: Authority) -> Iterator[StubServer]:
    with serving(authority, "127.0.0.1") as service:
        yield service


@pytest.fixture(scope="module")
def client_certificate(authority: Authority) -> tuple[str, str]:
    """The certificate and the key of a client."""
    return authority.issue("client.example.com")


@pytest.fixture
def mutual_tls_service(authority: Authority) -> Iterator[StubServer]:
    """A service that accepts only clients with a certificate of the authority."""
    with serving(authority, "127.0.0.1", requires_certificate=True) as service:
        yield service


def hosts(service: StubServer, url: str = "", **options: Any) -> int:
    """Return how many hosts a client with these options of the connection lists."""
    connection = ConnectionOptions(url or service.url, session_id=SESSION, request_retries=1, **options)
    with make_client(connection, clock=FakeClock()) as client:
        return len(query(client, "QueryHost"))


# ---------------------------------------------------------------------------------------------- certificates of servers


def test_authority_in_a_folder(authority: Authority, secure: StubServer, tmp_path: Path) -> None:
    (tmp_path / "README").write_text("The authorities of this house", encoding="utf-8")
    with pytest.raises(InvalidOptions, match="has no certificates"):
        hosts(secure, ca_path=str(tmp_path))
    other = Authority(tmp_path / "..")
    (tmp_path / "a-other.crt").write_bytes(other.authority.cert_pem.bytes())
    (tmp_path / "our authority.pem").write_bytes(authority.authority.cert_pem.bytes())
    assert hosts(secure, ca_path=f"{tmp_path}/") == 3


def test_authority_replaces_those_of_the_system(
    authority: Authority, secure: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.ca)
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    with pytest.raises(TransportError, match="TLS with"):
        hosts(secure, ca_path=str(other))


@pytest.mark.parametrize(
    ("name", "days", "reason"),
    [
        # The lists of names differ: urllib3 1.26 compares them itself.
        ("manager.example.com", 0, "127.0.0.1"),
        ("127.0.0.1", -1, "certificate has expired. Renew the certificate of the service."),
        ("127.0.0.1", 1, "certificate is not yet valid. Check the clock of this machine."),
    ],
)
def test_certificates_that_are_not_valid(authority: Authority, name: str, days: int, reason: str) -> None:
    details: dict[str, Any] = {}
    if days:
        day = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
        details = {"not_before": day, "not_after": day + datetime.timedelta(hours=1)}
    with serving(authority, name, **details) as service:
        with pytest.raises(TransportError) as caught:
            hosts(service, ca_path=authority.ca)
        assert service.requests == []
        assert hosts(service, validate_certs=False) == 3
    assert reason in str(caught.value)
    assert not caught.value.transient
    assert days or str(caught.value).endswith(" that the certificate lists: manager.example.com.")


# ---------------------------------------------------------------------------------------------- certificates of clients


class TlsHandshakes(SocketServer):
    """Does the TLS handshake of each connection, and waits until the client closes it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__()
        self._context = context

    def handle(self, client: socket.socket) -> None:
        """Do the handshake; a failure sends an alert."""
        # A socket that is closed with unread bytes resets the connection, and the client may lose the alert.
        with client.dup() as bare:
            with suppress(ssl.SSLError):
                self._context.wrap_socket(client, server_side=True)
            while bare.recv(4096):
                pass


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("of_another_authority", "alert"), [(False, "tlsv13 alert certificate required"), (True, "tlsv1 alert unknown ca")]
)
def test_client_whose_certificate_is_missing_or_refused(
    authority: Authority, version: ssl.TLSVersion, of_another_authority: bool, alert: str, tmp_path: Path
) -> None:
    context = server_context(authority, "127.0.0.1", requires_certificate=True)
    context.minimum_version = context.maximum_version = version
    options: dict[str, Any] = {"session_id": "s", "ca_path": authority.ca}
    if of_another_authority:
        options["client_cert"], options["client_key"] = Authority(tmp_path).issue("client.example.com")
    with TlsHandshakes(context) as service:
        url = f"https://{service.address}"
        with make_client(ConnectionOptions(url, **options), clock=FakeClock()) as client:
            with pytest.raises(TransportError) as read:
                query(client, "QueryHost")
            with pytest.raises(TransportError) as write:
                client.start_job("CreateSNSSnmpEndpoint", {"name": "only-one"})
    assert service.accepted == 2
    assert not read.value.transient
    assert not write.value.transient
    if version is ssl.TLSVersion.TLSv1_2:
        assert str(read.value).startswith(f"QueryHost could not be sent: TLS with {url} failed: ")
        assert not isinstance(write.value, ResponseLost)
    else:
        # Since version 1.3 the refusal is sent after the handshake, when the request may be on its way.
        assert str(read.value) == f"{url} ended TLS after QueryHost was sent: {alert} (see client_cert)"
        assert isinstance(write.value, ResponseLost)


def test_alert_after_the_handshake_is_a_lost_response() -> None:
    """If TLS ends after the request was sent, for any reason, the request may have been performed."""
    with StubServer(lambda request: TLS_ALERT, untrusted_context()) as service:
        connection = ConnectionOptions(service.url, session_id="s", validate_certs=False)
        with make_client(connection, clock=FakeClock()) as client, pytest.raises(ResponseLost) as caught:
            client.start_job("CreateSNSSnmpEndpoint", {"name": "only-one"})
    assert [request.method for request in service.requests] == ["POST"]
    assert "could not be sent" not in str(caught.value)


def test_only_alerts_about_the_certificate_of_the_client_are_final() -> None:
    alerts = {
        "TLSV13_ALERT_CERTIFICATE_REQUIRED": False,
        "TLSV1_ALERT_UNKNOWN_CA": False,
        "TLSV1_ALERT_ACCESS_DENIED": False,
        "TLSV1_ALERT_INTERNAL_ERROR": True,
        "TLSV1_ALERT_USER_CANCELLED": True,
    }
    for reason, is_transient in alerts.items():
        cause = ssl.SSLError()
        cause.reason = reason
        error = read_error(Peer("https://peer"), "QueryHost", cause, "", "GET", seconds=1, is_tls_port=False)
        assert error.transient is is_transient, reason


@pytest.mark.parametrize("name", ["QueryHost", "CreateSNSSnmpEndpoint"])
@pytest.mark.parametrize("reset", [False, True])
def test_connection_that_ends_during_the_handshake_is_an_outage(name: str, reset: bool) -> None:
    """A load balancer without a backend behaves in this way. Writes are retried too, as after a refused connection."""
    connections: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drop() -> None:
            for dummy in range(4):
                peer = listener.accept()[0]
                # A socket that is closed with unread data resets the connection.
                connections.append(b"" if reset else peer.recv(65536))
                peer.close()

        thread = threading.Thread(target=drop)
        thread.start()
        connection = ConnectionOptions(
            f"https://127.0.0.1:{listener.getsockname()[1]}", session_id="s", request_retries=3
        )
        clock = FakeClock()
        with (
            make_client(connection, clock=clock) as client,
            pytest.raises(TransportError, match="cannot connect") as lost,
        ):
            client.get(name, {}) if name == "QueryHost" else client.start_job(name, {"name": "only-one"})
        thread.join()
    assert not isinstance(lost.value, ResponseLost)
    # A reset may arrive before the handshake begins.
    how = "closed during the TLS handshake" + (r"|.*Connection reset by peer" if reset else "")
    assert re.match(rf"{name}: cannot connect to {connection.base_url}: ({how})\. Check base_url", str(lost.value))
    assert len(connections) == 4
    assert len(clock.slept) == 3


def test_unverified_certificates_cause_no_warning(secure: StubServer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hosts(secure, validate_certs=False) == 3


def test_certificate_of_a_service_that_requires_one_of_the_client(
    authority: Authority, client_certificate: tuple[str, str]
) -> None:
    """Since version 1.3 a client without a certificate would see that of the service, too."""
    end = datetime.datetime(2040, 5, 6, 7, 8, 9, tzinfo=datetime.timezone.utc)
    context = server_context(authority, "manager.example.com", requires_certificate=True, not_after=end)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    certificate, key = client_certificate
    with TlsHandshakes(context) as service:
        options = ConnectionOptions(
            f"https://{service.address}", ca_path=authority.ca, client_cert=certificate, client_key=key
        )
        assert options.list_certificate_names() == ["manager.example.com"]
        state = {"version": "TLSv1.2", "certificate_names": ["manager.example.com"]}
        assert read_tls_state(options) == {**state, "certificate_end": "2040-05-06T07:08:09Z"}
        unconfirmed = replace(options, ca_path=None)
        assert unconfirmed.list_certificate_names() == []
        assert read_tls_state(unconfirmed) == {"version": "TLSv1.2", "certificate_names": None, "certificate_end": None}
        anonymous = replace(options, client_cert=None, client_key=None)
        assert anonymous.list_certificate_names() == []
        assert read_tls_state(anonymous) is None
        assert read_tls_state(replace(options, base_url=f"http://{service.address}")) is None
        assert read_tls_state(replace(options, proxy_url="http://127.0.0.1:1")) is None


def test_port_without_tls(sim: Simulator) -> None:
    with taken_port() as nobody:
        for port in (nobody.getsockname()[1], sim.port):
            connection = ConnectionOptions(f"https://127.0.0.1:{port}")
            assert not connection.is_tls_port()
            assert connection.list_certificate_names() == []
            assert read_tls_state(connection) is None


def test_times_are_those_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XYZ-8")
    time.tzset()
    try:
        assert format_time(1795435200.0) == "2026-11-23T12:00:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()


# ------------------------------------------------------------------------------------------------------- IPv6 addresses


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_ipv6_addresses(authority: Authority, scheme: str) -> None:
    """The address is used for the socket and the certificate, and in brackets in the Host header."""
    heads: list[bytes] = []
    names: list[str | None] = []
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("::1"))
    context.sni_callback = lambda dummy, name, also: names.append(name)
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:

        def serve() -> None:
            peer = listener.accept()[0]
            with context.wrap_socket(peer, server_side=True) if scheme == "https" else peer as stream:
                heads.append(stream.recv(65536))
                stream.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{"inventories": []}')

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        connection = ConnectionOptions(
            f"{scheme}://[::1]:{port}", session_id="s", ca_path=authority.ca, request_retries=0
        )
        with make_client(connection) as client:
            assert query(client, "QueryHost") == []
        thread.join()
    assert f"\r\nHost: [::1]:{port}\r\n".encode() in heads[0]
    assert [name for name in names if name] == []


@pytest.mark.parametrize(
    ("scheme", "port"),
    [("http", 80), ("https", 443)],
)
def test_ipv6_addresses_without_a_port(monkeypatch: pytest.MonkeyPatch, scheme: str, port: int) -> None:
    """The port is that of the scheme: the end of an IPv6 address is not read as a port."""
    reached: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        reached.append(address)
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    connection = ConnectionOptions(f"{scheme}://[2001:db8::1]", session_id="s", request_retries=0)
    with make_client(connection) as client, pytest.raises(TransportError, match="Connection refused"):
        query(client, "QueryHost")
    assert reached == [("2001:db8::1", port, 0, 0)]


@pytest.mark.parametrize(("port", "named"), [("", b"[2001:db8::1]:443"), (":8443", b"[2001:db8::1]:8443")])
def test_ipv6_addresses_through_a_tunnel(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, port: str, named: bytes
) -> None:
    with serving(authority, "2001:db8::1") as service, Proxy(service.port) as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy.address}")
        assert hosts(service, f"https://[2001:db8::1]{port}", ca_path=authority.ca) == 3
    assert proxy.heads[0].startswith(b"CONNECT " + named + b" HTTP/1.")


def test_client_with_a_certificate(
    authority: Authority, mutual_tls_service: StubServer, client_certificate: tuple[str, str], tmp_path: Path
) -> None:
    certificate, key = client_certificate
    assert hosts(mutual_tls_service, ca_path=authority.ca, client_cert=certificate, client_key=key) == 3
    together = tmp_path / "together.pem"
    together.write_bytes(Path(key).read_bytes() + Path(certificate).read_bytes())
    assert hosts(mutual_tls_service, ca_path=authority.ca, client_cert=str(together)) == 3
    assert hosts(mutual_tls_service, validate_certs=False, client_cert=str(together)) == 3


def test_client_with_a_key_that_does_not_fit(
    authority: Authority, client_certificate: tuple[str, str], tmp_path: Path
) -> None:
    locked = tmp_path / "locked.pem"
    key = load_pem_private_key(Path(client_certificate[1]).read_bytes(), None)
    locked.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"only the owner knows"))
    )
    unfit = r"client_cert .* cannot be used"
    for wrong, reason in (
        (str(locked), r"the private key in .*locked\.pem is encrypted"),
        (authority.issue("other.example.com")[1], unfit),
        (client_certificate[0], unfit),
    ):
        connection = ConnectionOptions(
            "https://127.0.0.1:9",
            session_id="s",
            ca_path=authority.ca,
            client_cert=client_certificate[0],
            client_key=wrong,
        )
        with make_client(connection) as client, pytest.raises(InvalidOptions, match=reason):
            query(client, "QueryHost")


# ---------------------------------------------------------------------------------------------------- through a proxy


@pytest.fixture
def service(authority: Authority) -> Iterator[StubServer]:
    """A service at a name that only the proxy knows."""
    with serving(authority, "manager.example.com") as service:
        yield service


HOSTNAME = "https://manager.example.com:8443"
Variables = Callable[[str], dict[str, str]]


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "all_proxy"])
def test_tls_through_a_proxy(
    authority: Authority, service: StubServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with Proxy(service.port) as proxy:
        monkeypatch.setenv(variable, f"http://us%40er:pass%3Aword@{proxy.address}")
        assert hosts(service, HOSTNAME, ca_path=authority.ca) == 3
    (head,) = proxy.heads
    assert head.startswith(b"CONNECT manager.example.com:8443 HTTP/1.")
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"us@er:pass:word") in head
    assert SESSION.encode() not in head
    assert b"\r\nAuthorization" not in head


def test_proxy_that_requires_only_a_user_name(
    service: StubServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(service.port) as proxy:
        monkeypatch.setenv("https_proxy", f"http://user@{proxy.address}")
        assert hosts(service, HOSTNAME, ca_path=authority.ca) == 3
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"user:") + b"\r\n" in proxy.heads[0]


def test_the_proxy_cannot_intercept_tls(
    authority: Authority, service: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(service.port) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address)
        with pytest.raises(
            TransportError, match=r"TLS with https://other\.example\.com \(proxy 127\.0\.0\.1:\d+\) failed"
        ):
            hosts(service, "https://other.example.com", ca_path=authority.ca)
    assert service.requests == []


def test_proxy_that_is_disabled(secure: StubServer, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    with Proxy(secure.port) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://{proxy.address}")
        assert hosts(secure, ca_path=authority.ca, use_proxy=False) == 3
        monkeypatch.setenv("no_proxy", "example.com,127.0.0.1")
        assert hosts(secure, ca_path=authority.ca) == 3
    assert proxy.heads == []


@pytest.mark.parametrize(
    ("refusal", "words", "attempts"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the password in the variable https_proxy", 1),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "Tunnel connection failed: 502", 3),
        (b"nonsense", "cannot connect", 3),
    ],
)
def test_proxy_that_refuses(
    service: StubServer, monkeypatch: pytest.MonkeyPatch, refusal: bytes, words: str, attempts: int
) -> None:
    with Proxy(service.port, refusal) as proxy:
        monkeypatch.setenv("https_proxy", f"http://user:secret-word@{proxy.address}")
        connection = ConnectionOptions(HOSTNAME, session_id=SESSION, request_retries=2)
        with make_client(connection, clock=FakeClock()) as client, pytest.raises(TransportError, match=words) as caught:
            client.start_job("DeleteCbtTask", {"uuid": "a0000010000040008000000000000001"})
    assert not isinstance(caught.value, ResponseLost)
    assert "secret-word" not in str(caught.value)
    assert len(proxy.heads) == attempts
    assert service.requests == []


def test_write_that_a_proxy_accepted_is_not_retried(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    sim.configure(job_uuid="ignore")
    sim.fault("drop_after", "CreateSNSSnmpEndpoint", count=None)
    with Proxy(sim.port) as proxy:
        monkeypatch.setenv("http_proxy", f"http://{proxy.address}")
        connection = ConnectionOptions("http://manager.example.com", session_id=sim.session)
        with make_client(connection, clock=FakeClock()) as client, pytest.raises(ResponseLost, match="broke"):
            client.start_job("CreateSNSSnmpEndpoint", {"name": "only-one"})
    assert [entry["operation"] for entry in sim.log()] == ["CreateSNSSnmpEndpoint"]
