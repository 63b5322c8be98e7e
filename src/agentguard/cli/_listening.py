"""An address to listen at: on this machine unless it is meant otherwise."""

from __future__ import annotations

import ipaddress
import socket

from agentguard.errors import ConfigurationError


def require_local(host: str, *, allow_remote: bool) -> None:
    """Refuse an address that other machines reach, unless that is meant.

    Raises:
        ConfigurationError: for such an address.
    """
    if not allow_remote and not is_loopback(host):
        raise ConfigurationError(
            f"{host!r} can be reached from other machines; --allow-remote says that this is meant, 127.0.0.1 is not"
        )


def is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's own; of names only ``localhost`` is taken to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def address_of(listening: socket.socket) -> str:
    """The address of a socket, as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if listening.family == socket.AF_INET6 else f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address.

    Raises:
        ConfigurationError: where that cannot be.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"cannot listen at {host}:{port}: {error}") from None
