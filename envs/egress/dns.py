# SPDX-License-Identifier: Apache-2.0
"""DNS questions and answers (RFC 1035), for the addresses of a name and nothing else. Pure."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

from envs.egress.address import Address

TYPE_A = 1
TYPE_AAAA = 28
_CLASS_IN = 1
_RECURSION_DESIRED = 0x0100
_IS_ANSWER = 0x8000
_IS_CUT = 0x0200
_CODE_MASK = 0x000F
_NO_SUCH_NAME = 3
_HEADER = struct.Struct("!HHHHHH")
_RECORD = struct.Struct("!HHIH")  # type, class, ttl, length
_POINTER = 0xC0
_MAX_RECORDS = 64


def encode_question(name: str, kind: int, *, number: int) -> bytes:
    """The question for a name's addresses; `number` (16 bits) comes back with the answer."""
    labels = b"".join(bytes([len(part)]) + part.encode("ascii") for part in name.split("."))
    head = _HEADER.pack(number, _RECURSION_DESIRED, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack("!HH", kind, _CLASS_IN)


def decode_answer(data: bytes, question: bytes) -> tuple[Address, ...] | None:
    """The addresses in the answer to `question`; () when the name has none.

    None when `data` answers something else, so that a forged packet is not the end of the wait.
    Raises `ValueError` when the server failed or its answer cannot be read.
    """
    echoed = question[_HEADER.size :]
    if len(data) < _HEADER.size + len(echoed) or data[:2] != question[:2]:
        return None
    if data[_HEADER.size : _HEADER.size + len(echoed)].lower() != echoed.lower():
        return None
    _, flags, _, num_answers, _, _ = _HEADER.unpack_from(data)
    code = flags & _CODE_MASK
    if not flags & _IS_ANSWER:
        return None
    if code == _NO_SUCH_NAME:
        return ()
    if code or flags & _IS_CUT:
        raise ValueError(f"expected an answer of the DNS server, got flags {flags:#06x}")
    try:
        return _addresses(data, _HEADER.size + len(echoed), min(num_answers, _MAX_RECORDS))
    except (IndexError, struct.error) as error:
        raise ValueError(f"expected a whole DNS answer, got {len(data)} bytes") from error


def _addresses(data: bytes, offset: int, num_answers: int) -> tuple[Address, ...]:
    found: list[Address] = []
    for _ in range(num_answers):
        offset = _skip_name(data, offset)
        kind, class_, _, length = _RECORD.unpack_from(data, offset)
        offset += _RECORD.size
        value = data[offset : offset + length]
        offset += length
        if offset > len(data):
            raise IndexError(offset)
        if class_ == _CLASS_IN and kind == TYPE_A and len(value) == 4:
            found.append(IPv4Address(value))
        elif class_ == _CLASS_IN and kind == TYPE_AAAA and len(value) == 16:
            found.append(IPv6Address(value))
    return tuple(found)


def _skip_name(data: bytes, offset: int) -> int:
    while True:
        length = data[offset]
        if length & _POINTER == _POINTER:
            return offset + 2
        offset += 1 + length
        if length == 0:
            return offset
