"""Loaded by a function's Python before the function: no name but this machine's own is looked up anywhere.

What is to be seen here must not hang on a network, and nothing that is called here has any business outside.
"""

from __future__ import annotations

import socket
from typing import Any

_HERE = ("127.0.0.1", "localhost", None)
_looked_up = socket.getaddrinfo


def _only_here(host: Any, *rest: Any, **more: Any) -> Any:
    """Like `socket.getaddrinfo`. Raises `socket.gaierror` for what is elsewhere: there is no such name."""
    if host not in _HERE:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return _looked_up(host, *rest, **more)


socket.getaddrinfo = _only_here
