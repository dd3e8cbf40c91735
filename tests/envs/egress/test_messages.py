# SPDX-License-Identifier: Apache-2.0
"""Heads of requests and answers, and DNS messages, byte by byte."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import pytest

from envs.egress.dns import TYPE_A, TYPE_AAAA, decode_answer, encode_question
from envs.egress.http import Body, parse_request, parse_response
from envs.egress.refusal import Reason, RefusedError


def request(line: str, *headers: str) -> bytes:
    return ("\r\n".join([line, *headers]) + "\r\n\r\n").encode("latin-1")


def test_a_request_is_sent_on_in_origin_form_to_the_host_that_was_checked():
    head = parse_request(
        request(
            "GET http://Example.COM:80/a?b=c HTTP/1.1",
            "Host: other.example",
            "Proxy-Connection: keep-alive",
            "Proxy-Authorization: Basic eA==",
            "Connection: X-Secret",
            "X-Secret: 1",
            "Upgrade: websocket",
            "Accept: */*",
        )
    )
    assert head.target.authority == "example.com:80"
    assert head.encode() == (b"GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n")
    assert head.keeps_alive
    assert (
        parse_request(request("GET http://a.test:81?q HTTP/1.1"))
        .encode()
        .startswith(b"GET /?q HTTP/1.1\r\nHost: a.test:81\r\n")
    )


def test_a_tunnel_names_host_and_port():
    head = parse_request(request("CONNECT Example.com:443 HTTP/1.1", "Host: example.com:443"))
    assert (head.is_tunnel, head.target.authority) == (True, "example.com:443")


@pytest.mark.parametrize(
    "line",
    [
        "GET /path HTTP/1.1",  # to the proxy itself
        "GET http:///path HTTP/1.1",
        "GET http://user@host/ HTTP/1.1",
        "GET http://a.test\\@127.0.0.1/ HTTP/1.1",
        "GET http://host:99999/ HTTP/1.1",
        "GET http://a.test/ b HTTP/1.1",
        "GET http://a.test/\x00 HTTP/1.1",
        "GET http://a.test/ HTTP/2.0",
        "G(T http://a.test/ HTTP/1.1",
        "CONNECT http://a.test:443 HTTP/1.1",
        "CONNECT a.test HTTP/1.1",
        "nonsense",
        "",
    ],
)
def test_requests_that_cannot_be_read_are_malformed(line: str):
    with pytest.raises(RefusedError) as error:
        parse_request(request(line))
    assert error.value.refusal.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname", "ftp://a.test/", "https://a.test/", "chrome://version/"]
)
def test_other_schemes_are_refused(url: str):
    with pytest.raises(RefusedError) as error:
        parse_request(request(f"GET {url} HTTP/1.1"))
    assert error.value.refusal.reason is Reason.SCHEME


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: gzip, chunked",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Content-Length: +5",),
        ("Content-Length: 5, 5",),
        (" folded: line",),
        ("Bad Name: x",),
        ("Name : x",),
        ("No colon",),
        ("Bare: a\nb",),
    ],
)
def test_heads_that_two_readers_could_read_in_two_ways_are_refused(headers: tuple[str, ...]):
    with pytest.raises(RefusedError):
        parse_request(request("POST http://a.test/ HTTP/1.1", *headers))


@pytest.mark.parametrize(
    ("method", "line", "headers", "body", "keeps"),
    [
        ("GET", "HTTP/1.1 200 OK", ["Content-Length: 7"], Body(length=7), True),
        ("HEAD", "HTTP/1.1 200 OK", ["Content-Length: 7"], Body(), True),
        ("GET", "HTTP/1.1 304 Not Modified", ["Content-Length: 7"], Body(), True),
        ("GET", "HTTP/1.1 204 No Content", [], Body(), True),
        ("GET", "HTTP/1.1 200", ["Transfer-Encoding: chunked"], Body(is_chunked=True), True),
        ("GET", "HTTP/1.1 200 OK", [], Body(is_until_close=True), False),
        ("GET", "HTTP/1.0 200 OK", ["Content-Length: 7"], Body(length=7), False),
        ("GET", "HTTP/1.1 200 OK", ["Content-Length: 0", "Connection: close"], Body(), False),
    ],
)
def test_how_an_answer_ends(method, line, headers, body, keeps):
    head = parse_response(request(line, *headers), method=method)
    assert (head.body, head.keeps_alive) == (body, keeps)


@pytest.mark.parametrize(
    "line",
    ["", "HTTP/2 200 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 200 O\nX: y", "HTTP/1.1 20 OK", "ICY 1"],
)
def test_answers_that_cannot_be_read_are_refused(line: str):
    with pytest.raises(ValueError):
        parse_response(request(line), method="GET")


def answer(question: bytes, *values: bytes, flags: int = 0x8180, cut: int = 0) -> bytes:
    head = question[:2] + struct.pack("!HHHHH", flags, 1, len(values), 0, 0)
    records = b"".join(
        b"\xc0\x0c" + struct.pack("!HHIH", 1 if len(v) == 4 else 28, 1, 60, len(v)) + v
        for v in values
    )
    data = head + question[12:] + records
    return data[: len(data) - cut]


def test_a_dns_question_is_as_in_rfc_1035():
    expected = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x04test\x00\x00\x1c\x00\x01"
    assert encode_question("a.test", TYPE_AAAA, number=0x1234) == expected


def test_addresses_are_read_from_an_answer_behind_an_alias():
    question = encode_question("a.test", TYPE_A, number=7)
    alias = b"\xc0\x0c" + struct.pack("!HHIH", 5, 1, 60, 4) + b"\x01b\xc0\x0e"
    record = b"\x01b\xc0\x0e" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([1, 2, 3, 4])
    head = question[:2] + struct.pack("!HHHHH", 0x8180, 1, 2, 0, 0)
    assert decode_answer(head + question[12:] + alias + record, question) == (
        ip_address("1.2.3.4"),
    )


def test_no_such_name_is_no_address_and_a_failure_is_an_error():
    question = encode_question("a.test", TYPE_A, number=7)
    assert decode_answer(answer(question, flags=0x8183), question) == ()
    assert decode_answer(answer(question), question) == ()
    with pytest.raises(ValueError):
        decode_answer(answer(question, flags=0x8182), question)
    with pytest.raises(ValueError):
        decode_answer(answer(question, b"\1\2\3\4", cut=3), question)


def test_packets_that_answer_something_else_are_not_taken():
    question = encode_question("a.test", TYPE_A, number=7)
    other_number = encode_question("a.test", TYPE_A, number=8)
    other_name = encode_question("b.test", TYPE_A, number=7)
    for forged in (
        answer(other_number, b"\1\2\3\4"),
        answer(other_name, b"\1\2\3\4"),
        b"",
        b"x" * 9,
    ):
        assert decode_answer(forged, question) is None
    assert decode_answer(question, question) is None  # itself, sent back
