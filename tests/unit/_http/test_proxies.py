"""The proxy of the option ``proxy_url``: http, https and SOCKS, with and without TLS of the service."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Callable, Iterator
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
from ansible_collections.virtinfra.manager.plugins.module_utils._http import transport
from ansible_collections.virtinfra.manager.plugins.module_utils._http.adapter import AdapterPool
from ansible_collections.virtinfra.manager.plugins.module_utils._http.connection import (
    ConnectionOptions,
    Proxy,
)
from ansible_collections.virtinfra.manager.plugins.module_utils._http.tls_state import read_tls_state
from ansible_collections.virtinfra.manager.plugins.plugin_utils._run.given_options import prefer_given_options
from conftest import FakeClock

from support import socket_servers
from support.clients import make_client
from support.module_runner import run_module
from support.secret_forms import forms, login_forms
from support.socket_servers import ByteServer, SocksProxy, taken_port
from support.stub_server import StubResponse, StubServer

SESSION = "c81e728d9d4c2f636f067f89cc14862c"
USER, PASSWORD = "us@er", "pass:w/rd%2"
LOGIN = "us%40er:pass%3Aw%2Frd%252"
BASIC = b"Proxy-Authorization: Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode())
NAME = "manager.example.com"
TASK = {"uuid": "a0000010000040008000000000000001"}
HTTP_REFUSAL = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


class Authority:
    """A certificate authority, with the TLS contexts of servers and the file that clients need."""

    def __init__(self, folder: Path) -> None:
        self._authority, self._folder = trustme.CA(), folder
        self.ca = str(folder / "authority.pem")
        self._authority.cert_pem.write_to_path(self.ca)

    def context(self, name: str, requires_certificate: bool = False) -> ssl.SSLContext:
        """Return the TLS context of a server with a certificate for a name."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        self._authority.issue_cert(name).configure_cert(context)
        context.verify_mode = ssl.CERT_REQUIRED if requires_certificate else ssl.CERT_NONE
        return context

    def client_certificate(self) -> str:
        """Return the path of a file with the certificate of a client and its key."""
        path = self._folder / "client.pem"
        self._authority.issue_cert("client.example.com").private_key_and_cert_chain_pem.write_to_path(str(path))
        return str(path)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def serving(context: ssl.SSLContext | None = None) -> StubServer:
    """Return a service of three hosts."""
    hosts = [{"uuid": f"{number:032x}", "name": f"host-{number}"} for number in range(3)]
    return StubServer(lambda request: StubResponse(200, {"inventories": hosts, "total": 3}), context)


@pytest.fixture
def plain() -> Iterator[StubServer]:
    with serving() as service:
        yield service


@pytest.fixture
def secure(authority: Authority) -> Iterator[StubServer]:
    """A service whose certificate is for a name that only proxies know."""
    with serving(authority.context(NAME)) as service:
        yield service


def connect(url: str, proxy_url: str, **options: Any) -> ConnectionOptions:
    """Return the options of a connection through a proxy."""
    return ConnectionOptions(url, session_id=SESSION, proxy_url=proxy_url, **{"request_retries": 1, **options})


def count_hosts(connection: ConnectionOptions, **hooks: Any) -> int:
    """Return how many hosts a client with this connection lists; ``hooks`` are fields of Hooks."""
    with make_client(connection, clock=FakeClock(), **hooks) as client:
        return len(query(client, "QueryHost"))


def fail_to_write(connection: ConnectionOptions) -> TransportError:
    """Return the error of a call through a proxy that does not forward it."""
    with make_client(connection, clock=FakeClock()) as client, pytest.raises(TransportError) as caught:
        client.start_job("DeleteCbtTask", TASK)
    assert not isinstance(caught.value, ResponseLost)
    return caught.value


def with_login(url: str) -> str:
    """Return a URL with user name and password."""
    return url.replace("://", f"://{LOGIN}@")


# ------------------------------------------------------------------------------------------------- the four schemes


def test_http_proxy_forwards_plain_requests(plain: StubServer) -> None:
    with socket_servers.Proxy(plain.port) as proxy:
        assert count_hosts(connect(f"http://{NAME}", with_login(proxy.url))) == 3
    assert proxy.heads[0].startswith(f"GET http://{NAME}/service/v1/hosts".encode())
    assert BASIC in proxy.heads[0]


@pytest.mark.parametrize("requires_certificate", [False, True])
def test_tls_leads_through_the_tunnel_of_an_http_proxy(authority: Authority, requires_certificate: bool) -> None:
    """The proxy sees neither the session nor the request, and the client certificate reaches the service."""
    options = {"client_cert": authority.client_certificate()} if requires_certificate else {}
    with (
        serving(authority.context(NAME, requires_certificate)) as service,
        socket_servers.Proxy(service.port) as proxy,
    ):
        assert count_hosts(connect(f"https://{NAME}", with_login(proxy.url), ca_path=authority.ca, **options)) == 3
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT {NAME}:443 HTTP/1.".encode())
    assert BASIC in head
    assert SESSION.encode() not in head


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_https_proxy(authority: Authority, plain: StubServer, secure: StubServer, scheme: str) -> None:
    service = secure if scheme == "https" else plain
    with socket_servers.Proxy(service.port, context=authority.context("127.0.0.1")) as proxy:
        assert count_hosts(connect(f"{scheme}://{NAME}", with_login(proxy.url), ca_path=authority.ca)) == 3
        assert count_hosts(connect(f"{scheme}://{NAME}", proxy.url, validate_certs=False)) == 3
    assert BASIC in proxy.heads[0]
    assert proxy.heads[0].startswith(b"CONNECT" if scheme == "https" else b"GET http://")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_https_proxy_with_a_certificate_for_another_name(authority: Authority, plain: StubServer, scheme: str) -> None:
    with socket_servers.Proxy(plain.port, context=authority.context("other.example.com")) as proxy:
        failure = fail_to_write(connect(f"{scheme}://{NAME}", with_login(proxy.url), ca_path=authority.ca))
    assert f"(proxy {proxy.address})" in str(failure)
    assert not any(proxy.heads)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_socks5h_proxy_resolves_the_name(
    authority: Authority, plain: StubServer, secure: StubServer, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    resolved: list[object] = []
    resolve = socket.getaddrinfo

    def record(host: Any, *arguments: Any, **options: Any) -> Any:
        resolved.append(host)
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", record)
    service = secure if scheme == "https" else plain
    with SocksProxy(service.port) as proxy:
        assert count_hosts(connect(f"{scheme}://{NAME}:8443", proxy.url, ca_path=authority.ca)) == 3
    assert proxy.targets == [(NAME, 8443)]
    assert NAME not in resolved
    assert resolved


def test_socks5_resolves_the_name_here(plain: StubServer) -> None:
    with SocksProxy(plain.port) as proxy:
        assert count_hosts(connect("http://localhost:8443", proxy.url.replace("socks5h", "socks5"))) == 3
    assert proxy.targets == [("127.0.0.1", 8443)]


def test_socks5_says_how_the_proxy_resolves_a_name(plain: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = socket.getaddrinfo

    def look_up(host: Any, *arguments: Any, **options: Any) -> Any:
        if host == NAME:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with SocksProxy(plain.port) as proxy:
        failure = str(fail_to_write(connect(f"http://{NAME}", proxy.url.replace("socks5h", "socks5"))))
    assert "Name or service not known" in failure
    assert "If only the proxy knows the name, write socks5h:// in place of socks5://." in failure


def test_socks_proxy_with_a_login(plain: StubServer) -> None:
    with SocksProxy(plain.port, (USER, PASSWORD)) as proxy:
        assert count_hosts(connect(f"http://{NAME}", with_login(proxy.url))) == 3
        assert proxy.targets == [(NAME, 80)]
        for url in (with_login(proxy.url).replace("pass", "wrong"), proxy.url):
            failure = str(fail_to_write(connect(f"http://{NAME}", url, request_retries=3)))
            assert failure.startswith(f"DeleteCbtTask: the proxy {proxy.address} for http://{NAME} requires another")
            assert failure.endswith("Check the user name and the password in proxy_url.")
    assert proxy.accepted == 3
    assert len(proxy.targets) == 1


# ------------------------------------------------------------------------------------------------------- the choice


def test_proxy_of_the_option_replaces_those_of_the_environment(
    plain: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", NAME)
    with socket_servers.Proxy(plain.port) as proxy:
        assert count_hosts(connect(f"http://{NAME}", proxy.url)) == 3


def test_proxy_of_the_environment_may_be_a_socks_proxy(plain: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with SocksProxy(plain.port) as proxy:
        monkeypatch.setenv("all_proxy", proxy.url)
        assert count_hosts(connect(f"http://{NAME}", "")) == 3
    assert proxy.targets == [(NAME, 80)]


def test_connections_of_different_proxies_are_not_shared(plain: StubServer) -> None:
    connections = AdapterPool()
    with SocksProxy(plain.port) as one, SocksProxy(plain.port) as other:
        for proxy_url in (one.url, other.url, "", one.url):
            assert count_hosts(connect(plain.url, proxy_url), connections=connections) == 3
    assert (len(one.targets), len(other.targets)) == (1, 1)


def test_tls_is_not_read_past_the_proxy(secure: StubServer) -> None:
    assert read_tls_state(connect(f"https://127.0.0.1:{secure.port}", ""))
    assert read_tls_state(connect(f"https://127.0.0.1:{secure.port}", "http://127.0.0.1:1")) is None


PROXY = {"proxy_url": "http://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({}, {}),
        ({"use_proxy": True}, {}),
        ({"use_proxy": "no"}, {"proxy_url": ""}),
        ({"use_proxy": False, "proxy_url": None}, {"proxy_url": ""}),
        (PROXY, {"use_proxy": True}),
        ({**PROXY, "use_proxy": False}, {}),
    ],
)
def test_given_option_excludes_the_other_one_of_the_environment(given: dict[str, Any], added: dict[str, Any]) -> None:
    assert prefer_given_options(given) == {**given, **added}


def test_proxy_that_is_also_disabled() -> None:
    with pytest.raises(InvalidOptions, match="proxy_url and use_proxy: false are mutually exclusive"):
        connect("http://127.0.0.1", "http://127.0.0.1:1", use_proxy=False)


# --------------------------------------------------------------------------------------------------- invalid proxies


FORMS = [
    ("http://proxy", "http://proxy:80", "proxy:80"),
    ("HTTP://proxy/", "http://proxy:80", "proxy:80"),
    ("https://user@proxy", "https://user:@proxy:443", "proxy:443"),
    ("socks5h://a:b@proxy", "socks5h://a:b@proxy:1080", "proxy:1080"),
    ("socks5://[2001:db8::1]:99", "socks5://[2001:db8::1]:99", "[2001:db8::1]:99"),
    ("http://a:b%40c@[::1]", "http://a:b%40c@[::1]:80", "[::1]:80"),
    ("http://a@b@proxy:", "http://a@b:@proxy:80", "proxy:80"),
]


def test_forms_of_a_proxy() -> None:
    proxies = [Proxy.parse(given, "proxy_url") for given, *dummy in FORMS]
    assert [(proxy.url, proxy.address) for proxy in proxies] == [tuple(expected) for dummy, *expected in FORMS]


INVALID = (
    *("proxy:3128", "ftp://proxy:21", "socks4://proxy", "http://", "http://:3128", "http://proxy:0", "http://proxy:x"),
    *("http://user:p4ss/word@proxy", "http://user:99/p4ss@proxy", "http://user:p4ss#word@proxy", "http://a b"),
    *("http://proxy/p4ss", "http://proxy?p4ss", "http://user:p4ss%E2%82%AC@proxy"),
    *("https://user:p4ss%E2%82%AC@proxy", "http://proxy/X"),
)


PROXY_FORM = (
    "must have the form http://HOST:3128, or begin with https://, socks5h:// or socks5://. In a user name"
    " and a password, / is written as %2F, @ as %40, # as %23 and % as %25"
)


def test_invalid_proxy_is_refused_without_its_text() -> None:
    failures: list[Any] = []
    for url in INVALID:
        try:
            failures.append((url, connect("http://127.0.0.1", url)))
        except InvalidOptions as error:
            if str(error) != f"proxy_url {PROXY_FORM}":
                failures.append((url, str(error)))
    assert failures == []


def test_invalid_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks4://user:p4ss@proxy")
    with make_client(connect("http://127.0.0.1", "")) as client, pytest.raises(InvalidOptions) as caught:
        query(client, "QueryHost")
    assert str(caught.value) == f"the variable http_proxy {PROXY_FORM}. Change it, or set use_proxy to false"


def test_socks_without_its_library(monkeypatch: pytest.MonkeyPatch, plain: StubServer) -> None:
    monkeypatch.setattr(transport, "has_socks", lambda: False)
    with SocksProxy(plain.port) as proxy:
        result = run_module("host_info", {"base_url": plain.url, "session_id": SESSION, "proxy_url": proxy.url})
    assert "required Python library (PySocks)" in result.result["msg"]
    assert f"for the socks5h proxy {proxy.address}" in result.result["msg"]
    assert proxy.accepted == 0


# ------------------------------------------------------------------------------------------------- what proxies say


@pytest.mark.parametrize("name", ["proxy_url", "VIRTINFRA_PROXY_URL"])
@pytest.mark.parametrize("scheme", ["http", "https", "socks5h", "socks5"])
def test_dead_proxy_is_named_without_its_login(monkeypatch: pytest.MonkeyPatch, name: str, scheme: str) -> None:
    with taken_port() as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        url = f"{scheme}://{LOGIN}@{address}"
        if name != "proxy_url":
            monkeypatch.setenv(name, url)
        failure = str(fail_to_write(connect("https://127.0.0.1", url)))
    assert failure.startswith(
        f"DeleteCbtTask: cannot connect to https://127.0.0.1 (proxy {address}): Connection refused. Check {name} and"
        " whether the proxy runs. 2 attempts"
    )


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_login_that_the_proxy_refuses_is_not_repeated(plain: StubServer, scheme: str) -> None:
    with socket_servers.Proxy(plain.port, HTTP_REFUSAL) as proxy:
        failure = str(fail_to_write(connect(f"{scheme}://{NAME}", with_login(proxy.url), request_retries=5)))
    assert failure.startswith(f"DeleteCbtTask: the proxy {proxy.address} for {scheme}://{NAME} requires another login:")
    assert " 407" in failure
    assert failure.endswith("Check the user name and the password in proxy_url.")
    assert len(proxy.heads) == 1
    assert plain.requests == []


SECRETS = {*forms(PASSWORD), *login_forms(USER, PASSWORD), LOGIN}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_login_is_masked_in_what_the_proxy_says(scheme: str) -> None:
    said = " | ".join(sorted(SECRETS))

    def refuse() -> Iterator[bytes]:
        yield f"HTTP/1.1 502 {said}\r\n\r\n{said}".encode()

    lines: list[str] = []
    with ByteServer(refuse) as proxy:
        options = {"base_url": f"{scheme}://{NAME}", "session_id": SESSION, "request_retries": 0}
        result = run_module("host_info", {**options, "proxy_url": with_login(proxy.url)}, on_request=lines.append)
    assert "502" in result.result["msg"]
    assert "********" in result.result["msg"]
    assert lines
    texts = [str(result), repr(connect(f"http://{NAME}", with_login(proxy.url))), *lines]
    assert [secret for secret in SECRETS for text in texts if secret in text] == []


def test_login_is_masked_in_results(plain: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module returns what the service says, which may repeat the header of a proxy."""
    said = " | ".join(sorted(SECRETS))

    def fail(*dummy: object) -> Callable[..., Any]:
        raise ValueError(said)

    monkeypatch.setattr(transport, "_encode_request", fail)
    with socket_servers.Proxy(plain.port) as proxy:
        options = {"base_url": plain.url, "session_id": SESSION, "proxy_url": with_login(proxy.url)}
        result = run_module("host_info", options)
    assert "bug in the collection" in result.result["msg"]
    assert [secret for secret in SECRETS if secret in str(result)] == []
