from hypothesis import given
from hypothesis import strategies as st

from agentguard.gate.documents._http import refusal

from ...rows import over

# IANA's registries of special-purpose addresses, IPv4 and IPv6.
PRIVATE = ["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "100.64.0.1", "::1", "fc00::1"]
NEVER = [
    "0.0.0.0",  # noqa: S104 - nothing is bound to it
    "0.1.2.3",
    "169.254.169.254",
    "169.254.0.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "100.100.100.200",
    "192.0.0.192",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "fd00:ec2::254",
    "fec0::1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
]
INSIDE = ["::ffff:10.0.0.1", "::ffff:7f00:1", "2002:7f00:1::", "64:ff9b::7f00:1", "::7f00:1", "64:ff9b:1::a00:1"]
PUBLIC = [
    "1.1.1.1",
    "93.184.216.34",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
]


@over("address", PUBLIC)
def test_public_addresses_are_asked(address):
    assert refusal(address) is None


@over("address", [*PRIVATE, *INSIDE])
def test_private_addresses_are_asked_where_that_is_allowed(address):
    assert address in (refusal(address) or "")
    assert refusal(address, allow_private=True) is None


@over("address", NEVER)
def test_some_are_never_asked(address):
    assert refusal(address) is not None
    assert refusal(address, allow_private=True) is not None


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_the_same_inside_another(address):
    mapped = refusal(f"::ffff:{address}")
    translated = refusal(f"64:ff9b::{int(address) >> 16:x}:{int(address) & 0xFFFF:x}")
    assert (refusal(str(address)) is None) == (mapped is None) == (translated is None)


@given(st.ip_addresses(v=4))
def test_what_is_asked_is_global(address):
    if refusal(str(address)) is None:
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved


@given(st.ip_addresses(v=6, network="2000::/3"))
def test_of_ipv6_too(address):
    if refusal(str(address)) is None:
        assert address.is_global
