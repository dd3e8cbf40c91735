# SPDX-License-Identifier: Apache-2.0
"""The resolving egress proxy: the only way out of a browser, and its security boundary.

Pure, told the time where they need it:
- `address`: canonical hosts, public addresses;  `target`: host and port
- `config`, `policy`: what may be reached;  `refusal`: why not
- `breaker`, `caps`: domains that time out, and how much of each may be had
- `http`: request and response heads;  `dns`: messages to a DNS server

The shell around them:
- `resolver`: the system's resolver and the second one
- `dialer`: a checked connection to a target
- `relay`: bodies and tunnels, with deadlines and bounded buffers
- `proxy`: the server that a browser is pointed at
"""
