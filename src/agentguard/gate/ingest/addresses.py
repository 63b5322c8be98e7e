"""Which addresses of the network may be asked for documents."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

__all__ = ["refusal"]

#: Where machines of a cloud are told their credentials, as far as these are not link-local: nothing lies there to read.
_METADATA: Final = frozenset({IPv4Address("100.100.100.200"), IPv4Address("192.0.0.192"), IPv6Address("fd00:ec2::254")})
#: The only IPv6 addresses that have been given out for the Internet.
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
#: IPv6 addresses whose last 32 bits are the IPv4 address that a translator asks.
_TRANSLATED: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_SHARED: Final = IPv4Network("100.64.0.0/10")


def refusal(address: str, allow_private: bool = False) -> str | None:
    """Why an address is not asked; None where it may be.

    Private networks, this machine and the addresses that providers share among customers may be asked where
    ``allow_private`` says so; link-local ones, metadata services, multicast and what stands for no machine never.
    IPv4 addresses inside IPv6 ones (mapped, 6to4, Teredo, NAT64) are judged as what they lead to.

    >>> refusal("169.254.169.254", allow_private=True)
    '169.254.169.254 is link-local'
    >>> refusal("::ffff:10.0.0.1"), refusal("10.0.0.1", allow_private=True), refusal("1.1.1.1")
    ('::ffff:10.0.0.1 is private', None, None)
    """
    parsed = ip_address(address)
    kind = _kind(parsed)
    if kind is None or (
        allow_private and kind in ("private", "this machine's own", "shared by a provider's customers")
    ):
        return None
    return f"{address} is {kind}"


def _kind(address: IPv4Address | IPv6Address) -> str | None:
    inner = _inside(address) if isinstance(address, IPv6Address) else []
    if inner:
        return next((kind for kind in map(_kind, inner) if kind is not None), None)
    if address in _METADATA:
        return "a metadata service's"
    if address.is_link_local:
        return "link-local"
    if address.is_multicast:
        return "multicast"
    if address.is_unspecified or (isinstance(address, IPv4Address) and address.packed[0] == 0):
        return "no machine's"
    if address.is_loopback:
        return "this machine's own"
    if isinstance(address, IPv4Address):
        if address.is_reserved:  # the broadcast address among them
            return "reserved"
        if address in _SHARED:
            return "shared by a provider's customers"
    elif address not in _GLOBAL_UNICAST:
        return "private" if address.is_private and not address.is_reserved else "reserved"
    return None if address.is_global else "private"


def _inside(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if any(address in network for network in _TRANSLATED) or (int(address) >> 32 == 0 and int(address) > 0xFFFF):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return []
