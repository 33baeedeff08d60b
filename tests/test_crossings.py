"""How far a reader has to walk: the module borders that one request crosses on its way to its first question."""

import json
import sys
import unittest

from mcp_ref import Context, Server
from mcp_ref.base.request import Head, Request
from mcp_ref.transports.endpoint import Endpoint

from .support import headers, message

AT_MOST = 25


class Crossings(unittest.TestCase):
    def test_a_call_that_asks(self):
        """A call from one module of the package into another counts one; what lib does within itself is its own."""
        server = Server("s", "1")

        @server.tool
        def book(ctx: Context, flight: str) -> str:
            return str(ctx.elicit(f"Book {flight}?", {"agree": {"type": "boolean"}}).accepted)

        body = message("tools/call", {"name": "book", "arguments": {"flight": "MC 1"}})
        raw = json.dumps(body).encode()
        fields = {**headers(body), "content-length": str(len(raw))}
        crossed = []

        def heard(frame, event, _):
            if event == "call" and frame.f_back is not None:
                caller, called = (each.f_globals.get("__name__", "") for each in (frame.f_back, frame))
                ours = caller.startswith("mcp_ref.") and called.startswith("mcp_ref.") and caller != called
                if ours and not caller.startswith("mcp_ref.lib."):
                    crossed.append(f"{caller} -> {called}.{frame.f_code.co_name}")

        def asked():
            request = Request(lambda: raw, Head("POST", "/mcp", dict(fields), frozenset()), endpoint=Endpoint())
            before = sys.getprofile()
            sys.setprofile(heard)
            try:
                return json.loads(server.handle(request).body)["result"]["resultType"]
            finally:
                sys.setprofile(before)

        asked()  # what is made once for a process is not on the way of a request
        crossed.clear()
        self.assertEqual(asked(), "input_required")
        self.assertLessEqual(len(crossed), AT_MOST, "\n".join(crossed))
        self.assertEqual(crossed[0], "mcp_ref.server.server -> mcp_ref.serve.serve")
