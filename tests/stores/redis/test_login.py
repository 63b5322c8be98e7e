"""Login and TLS by URL, and passwords that nobody gets to see."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from agentguard.errors import AgentGuardError, ConfigurationError, StoreError
from agentguard.stores import Delta
from agentguard.stores._redis import RedisStore

SECRET = "hush9hush"


def use(store: RedisStore) -> None:
    """Every method once."""
    try:
        store.append("feedback", {"n": 1})
        assert [record.event for record in store.events("feedback")] == [{"n": 1}]
        assert store.claim("receipt", "c1")
        hour = store.merge(Delta("w", 1, {"add": {"calls": 2**62}}))
        store.merge(Delta("w", 2, {"add": {"calls": 2**61}}))
        assert store.counts() == {hour: {"add": {"calls": 2**62 + 2**61}}}
        store.save({"add": {"n": 1}})
        assert store.load() == {"add": {"n": 1}}
        assert store.names() == ("add",)
        store.forget(["add"])
        assert store.prune(0.0) == 2
    finally:
        store.close()


def test_a_password_of_any_characters(server: Any, prefix: str) -> None:
    use(RedisStore(server.url, prefix=prefix))


def test_tls(tls_server: Any, prefix: str) -> None:
    use(RedisStore(tls_server.url, prefix=prefix))


def test_a_certificate_of_an_unknown_authority_is_refused(tls_server: Any) -> None:
    store = RedisStore(tls_server.url.partition("?")[0])

    with pytest.raises(StoreError, match=r"cannot be reached.*certificate verify failed"):
        store.names()
    store.close()


def test_a_certificate_of_another_host_is_refused(tls_server: Any) -> None:
    store = RedisStore(tls_server.url.replace("localhost", "127.0.0.1"))

    with pytest.raises(StoreError, match=r"cannot be reached.*certificate verify failed"):
        store.names()
    store.close()


def test_a_server_that_speaks_no_tls(server: Any) -> None:
    store = RedisStore(server.url.replace("redis://", "rediss://"), timeout=0.1)

    with pytest.raises(StoreError, match=f"Redis at 127.0.0.1:{server.port}/0 (cannot be reached|did not answer)"):
        store.names()
    store.close()


def test_a_user_of_its_own_needs_what_the_documentation_says(server: Any) -> None:
    allowed = (RedisStore.__doc__ or "").partition("``~")[2].partition("``")[0]
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "guard", "on", f">{SECRET}", *f"~{allowed}".split())
    use(RedisStore(f"redis://guard:{SECRET}@127.0.0.1:{server.port}"))
    other = RedisStore(f"redis://guard:{SECRET}@127.0.0.1:{server.port}", prefix="elsewhere")

    with pytest.raises(StoreError, match="does not let this user do that"):
        other.append("feedback", {})
    other.close()


@pytest.mark.parametrize(
    ("login", "said"),
    [
        (f":{SECRET}@", "refuses the login: check user and password in the URL"),
        (f"nobody:{SECRET}@", "refuses the login: check user and password in the URL"),
        ("", "asks for a password|refuses the login"),
    ],
)
def test_a_login_that_is_refused(server: Any, login: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    store = RedisStore(f"redis://{login}127.0.0.1:{server.port}")
    with pytest.raises(StoreError, match=said) as caught:
        store.append("feedback", {"n": 1})
    store.close()
    shown = "".join(traceback.format_exception(caught.value)) + repr(store) + caplog.text

    assert f"127.0.0.1:{server.port}" in shown
    assert SECRET not in shown


@pytest.mark.parametrize(
    "url",
    [
        "http://:{}@host/0",
        "{}",
        "",
        "redis://:{}/x@host/0",
        "redis://:{}#x@host/0",
        "redis://:a?{}=b@host/0",
        "redis://:x@{}/y@host/0",
        "redis://host:{}/0",
        "redis://host/{}",
        "redis://host/0?password={}",
        "redis://host/0?socket_timeout={}",
        "redis://host/0?{}=1",
        "redis://host/0?decode_responses=true",
        "redis://host/0?db={}",
        "redis://:{}@host/0?ssl_ca_certs=ca.pem",
        "rediss://:{}@host/0?ssl_cert_reqs=sometimes",
        "redis://[{}/0",
        "unix://",
        "unix:///run/redis.sock?path={}&x=1",
    ],
)
def test_urls_that_cannot_be_used_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="URL") as caught:
        RedisStore(url.format(SECRET))

    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("redis://", "localhost:6379/0"),
        ("redis://host", "host:6379/0"),
        ("REDIS://host:1/3", "host:1/3"),
        ("redis://host?db=4", "host:6379/4"),
        ("redis://[::1]:7/0", "[::1]:7/0"),
        (f"redis://user:{SECRET}@host/", "host:6379/0"),
        (f"rediss://:{SECRET}@host:1?ssl_ca_certs=x.pem", "host:1/0"),
        (f"unix://user:{SECRET}@/run/redis.sock?db=2", "/run/redis.sock/2"),
    ],
)
def test_a_store_shows_its_address_and_no_password(url: str, where: str) -> None:
    store = RedisStore(url)
    shown = repr(store) + str(store)
    store.close()

    assert where in shown
    assert SECRET not in shown


def test_a_socket_of_the_machine(started: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("s") / "redis.sock"
    server = started("--unixsocket", str(path))
    login = server.url.partition("//")[2].partition("@")[0]

    use(RedisStore(f"unix://{login}@{path}"))


@pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid", "a..b", "x" * 300])
def test_a_server_that_is_not_there(host: str) -> None:
    store = RedisStore(f"redis://:{SECRET}@{host}")
    with pytest.raises(StoreError, match="cannot be reached: see whether it runs") as caught:
        store.append("feedback", {"n": 1})
    store.close()

    assert isinstance(caught.value, AgentGuardError)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
