"""Addresses of machines in a text: IPv4, and IPv6 also compressed or with an IPv4 tail."""

from __future__ import annotations

__all__ = ["IPV4", "IPV6", "ip_address", "ip_address_with_digits", "ip_part"]

OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"\b{OCTET}(?:\.{OCTET}){{3}}(?:/(?:3[0-2]|[12]?[0-9]))?\b"
# Wider than the standard, to which `ip_address` holds it: anything of groups with "::" among them, or of eight groups.
IPV6 = r"[0-9a-fA-F:]*::[0-9a-fA-F:.]*(?:/[0-9]+)?|(?:[0-9a-fA-F]{1,4}:){6,7}[0-9a-fA-F.]+(?:/[0-9]+)?"


def ip_part(text: str) -> tuple[int, int]:
    """The address without the full stop of its sentence, and without a prefix length that cannot be one.

    >>> ip_part("2001:db8::1."), ip_part("2001:db8::/999"), ip_part("2001:db8::/32")
    ((0, 11), (0, 10), (0, 13))
    """
    address = text.rstrip(".")
    host, slash, prefix = address.partition("/")
    possible = slash and len(prefix) <= 3 and int(prefix) <= 128
    return 0, len(address if possible else host)


def ip_address(text: str) -> bool:
    """Whether the standard library reads it as an address, or as one with a prefix length.

    >>> ip_address("2001:db8::1/32"), ip_address("2001::db8::1"), ip_address("10.0.0.0/33")
    (True, False, False)
    """
    from ipaddress import ip_interface  # rarely needed, and slow to load

    try:
        ip_interface(text)
    except ValueError:
        return False
    return True


def ip_address_with_digits(text: str) -> bool:
    """The same, where it could hardly be a name of a program: ``a::b`` and ``::`` are written by programmers too.

    >>> ip_address_with_digits("fe80::1"), ip_address_with_digits("a::b")
    (True, False)
    """
    return any("0" <= character <= "9" for character in text.partition("/")[0]) and ip_address(text)
