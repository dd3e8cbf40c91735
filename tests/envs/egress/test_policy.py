# SPDX-License-Identifier: Apache-2.0
"""The table of attacks on addresses and names, and what may be reached in each mode."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from envs.egress.address import canonical_host, is_metadata, is_public
from envs.egress.config import EgressConfig, EgressMode
from envs.egress.policy import EgressPolicy
from envs.egress.refusal import Reason
from envs.egress.target import Target, parse_authority, parse_resolver

PUBLIC = EgressPolicy(EgressConfig(mode=EgressMode.PUBLIC, allow=("127.0.0.1:8080", "lan.test:81")))
LISTED = EgressPolicy(EgressConfig(mode=EgressMode.LISTED, allow=("127.0.0.1:8080",)))


def target(authority: str) -> Target:
    host, port = parse_authority(authority, default_port=80)
    return Target(host=host, port=port)


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",  # decimal
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",  # octal
        "017700000001",
        "127.0.0.1.",
        "１２７.０.０.１",  # full-width digits
        "①②⑦.0.0.1",
        "127。0。0。1",
        "127｡0｡0｡1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:0001]",
    ],
)
def test_every_way_to_write_loopback_is_the_same_address_and_refused(text: str):
    assert canonical_host(text) == ip_address("127.0.0.1") or text.startswith("[")
    assert not is_public(canonical_host(text))
    assert PUBLIC.refusal_of_target(target(f"{text}:80")) is Reason.PRIVATE_ADDRESS


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.255.255.254",
        "169.254.1.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",  # IPv4-compatible
        "::ffff:10.0.0.1",
        "::ffff:0:10.0.0.1",  # translated
        "64:ff9b::10.0.0.1",  # NAT64
        "64:ff9b:1::1",
        "100::1",
        "2001::1",  # Teredo
        "2001:db8::1",
        "2002:7f00:1::",  # 6to4 of 127.0.0.1
        "2002:808:808::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_addresses_that_are_not_public(address: str):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:2800:220:1::1",
        "2a00:1450::8",
        "2001:4860:4860::8888",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
    ],
)
def test_addresses_that_are_public(address: str):
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "2852039166",  # the same in decimal
        "0xa9fea9fe",
        "[::ffff:169.254.169.254]",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",  # a public address
        "[fd00:ec2::254]",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ],
)
def test_metadata_services_are_refused_by_name_and_by_address(host: str):
    assert is_metadata(canonical_host(host))
    assert PUBLIC.refusal_of_target(target(f"{host}:80")) is Reason.METADATA


def test_a_name_that_means_a_metadata_service_is_refused_even_when_listed():
    listed = target("lan.test:81")
    addresses = [ip_address("169.254.169.254")]
    assert PUBLIC.refusal_of_addresses(listed, addresses) is Reason.METADATA
    carried = [ip_address("::ffff:169.254.169.254")]
    assert PUBLIC.refusal_of_addresses(listed, carried) is Reason.METADATA


def test_a_name_with_one_private_address_among_public_ones_is_refused():
    host = target("example.com:80")
    good, bad = ip_address("93.184.216.34"), ip_address("10.0.0.1")
    assert PUBLIC.refusal_of_addresses(host, [good]) is None
    assert PUBLIC.refusal_of_addresses(host, [good, bad]) is Reason.PRIVATE_ADDRESS


def test_the_list_is_of_host_and_port_as_asked_for():
    assert PUBLIC.refusal_of_target(target("127.0.0.1:8080")) is None
    assert PUBLIC.refusal_of_target(target("0x7f.1:8080")) is None  # the same address
    assert PUBLIC.refusal_of_target(target("127.0.0.1:8081")) is Reason.PRIVATE_ADDRESS
    assert PUBLIC.refusal_of_target(target("127.0.0.2:8080")) is Reason.PRIVATE_ADDRESS
    private = [ip_address("127.0.0.1")]
    assert PUBLIC.refusal_of_addresses(target("lan.test:81"), private) is None
    assert PUBLIC.refusal_of_addresses(target("lan.test:82"), private) is Reason.PRIVATE_ADDRESS
    # Another's name for a listed address is not listed.
    other = target("evil.example:8080")
    assert PUBLIC.refusal_of_addresses(other, private) is Reason.PRIVATE_ADDRESS


def test_in_listed_mode_only_the_list_is_reached():
    assert LISTED.refusal_of_target(target("127.0.0.1:8080")) is None
    for authority in ("example.com:80", "1.1.1.1:443"):
        assert LISTED.refusal_of_target(target(authority)) is Reason.NOT_LISTED
        assert PUBLIC.refusal_of_target(target(authority)) is None


def test_sites_are_known_by_the_end_of_their_name():
    assert PUBLIC.is_site(target("search.forage.test:80"))
    assert PUBLIC.is_site(target("SEARCH.Forage.Test.:80"))
    for host in ("forage.test", "evilforage.test", "search.forage.test.example.com"):
        assert not PUBLIC.is_site(target(f"{host}:80"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a..b",
        "256.0.0.1",
        "1.2.3.4.5",
        "1.2.3.999",
        "4294967296",
        "%31%32%37.0.0.1",
        "a b",
        "-a",
        "[fe80::1%25eth0]",
        "[::1",
        "evil.0x7f",
        "example.1",
        "a" * 64,
        ".".join(["a" * 60] * 5),
        "exam\x00ple",
        "user@host",
    ],
)
def test_what_is_no_host_is_refused(text: str):
    with pytest.raises(ValueError):
        canonical_host(text)


@pytest.mark.parametrize("text", ["host", "host:", "host:0", "host:65536", "host:-1", "::1:80"])
def test_what_is_no_authority_is_refused(text: str):
    with pytest.raises(ValueError):
        parse_authority(text)


def test_names_are_lower_case_ascii():
    assert canonical_host("BÜCHER.Example.") == "xn--bcher-kva.example"
    assert target("[2001:DB8::1]:443").authority == "[2001:db8::1]:443"


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"mode": EgressMode.LISTED, "allow": ("nowhere",)}, "allow"),
        ({"mode": EgressMode.LISTED, "allow": ("169.254.169.254:80",)}, "allow"),
        ({"allow": ("127.0.0.1:80",)}, "allow"),
        ({"second_resolver": "dns.example:53"}, "second_resolver"),
        ({"breaker_timeouts": 0}, "breaker_timeouts"),
        ({"idle_timeout_s": float("nan")}, "idle_timeout_s"),
        ({"max_total_bytes": -1}, "max_total_bytes"),
    ],
)
def test_settings_that_are_out_of_range_name_their_key(settings: dict, key: str):
    with pytest.raises(ValueError, match=rf"env\.browser\.egress\.{key}"):
        EgressConfig(**settings)


def test_a_resolver_is_an_address_with_or_without_a_port():
    assert parse_resolver("9.9.9.9") == ("9.9.9.9", 53)
    assert parse_resolver("127.0.0.1:5353") == ("127.0.0.1", 5353)
    assert parse_resolver("[::1]:5353") == ("::1", 5353)
    assert parse_resolver("::1") == ("::1", 53)
