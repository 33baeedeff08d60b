"""A few thousand seeded mutations of valid requests, over a socket: a documented answer, and the server stays well."""

import json
import random
import socket
import unittest

from mcp_ref.base.errors import ERRORS
from mcp_ref.demo import server
from mcp_ref.ladder import LADDER
from mcp_ref.transports.http_server import HTTPServer, Limits

from .support import RawClient, message

COUNT = 3000
STATUSES = {200, 202} | {status for rung in LADDER for status, _, _ in rung.answers}
CODES = {error.defined for error in ERRORS} - {-32603}
ODD = [None, True, False, 0, -1, 1.5, 10**30, "", "x", "é\x00", [], {}, [[]], {"": None}, "=?base64?=", "a" * 5000,
       {"type": "object"}, "2026-07-28", "tools/call"]


def valid(random):
    """One of the requests that the demo serves."""
    return random.choice([
        message("server/discover"), message("tools/list"), message("tools/list", {"cursor": "x"}),
        message("tools/call", {"name": "echo", "arguments": {"text": "hi"}}),
        message("tools/call", {"name": "echo", "arguments": {}}),
        message("tools/call", {"name": "greet", "inputResponses": {"name": {"action": "accept",
                                                                          "content": {"name": "Ada"}}}}),
        message("tools/call", {"name": "greet", "requestState": "v1.e30.x"}),
        message("tools/call", {"name": "count", "arguments": {"to": 2, "pause": 0}})])


def places(value, path=()):
    """Every path into a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, path + (key,))


def mutate_json(body, random):
    """Replace, remove, rename or add one member somewhere."""
    path = random.choice(list(places(body))[1:])
    holder = body
    for key in path[:-1]:
        holder = holder[key]
    how = random.randrange(4)
    if how == 0:
        holder[path[-1]] = random.choice(ODD)
    elif how == 1:
        del holder[path[-1]]
    elif isinstance(holder, dict):
        holder[random.choice(["", "x", "name", "_meta", "arguments", "é"])] = holder[path[-1]]
        if how == 2:
            holder.pop(path[-1], None)
    return body


def mutate_octets(octets, random):
    """Change, remove, insert or repeat a few octets of the request."""
    data = bytearray(octets)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(data))
        how = random.randrange(4)
        if how == 0:
            data[at] = random.randrange(256)
        elif how == 1:
            del data[at:at + random.randrange(1, 9)]
        elif how == 2:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.randrange(1, 5)))
        else:
            data[at:at] = data[at:at + random.randrange(1, 40)]
    return bytes(data)


class Mutations(unittest.TestCase):
    def setUp(self):
        self.http = HTTPServer(server, port=0, limits=Limits(idle=60)).start()
        self.addCleanup(self.http.stop)
        self.client = None
        self.addCleanup(self.hang_up)

    def hang_up(self):
        if self.client is not None:
            self.client.socket.close()
        self.client = None

    def connected(self):
        if self.client is None:
            self.client = RawClient(self.http.url)
        return self.client

    def check(self, reply, seed):
        self.assertIn(reply.status, STATUSES, seed)
        if reply.headers.get("content-type") == "application/json" and reply.body:
            error = json.loads(reply.body).get("error")
            if isinstance(error, dict):
                self.assertIn(error["code"], CODES, seed)

    def well(self, seed):
        """The next request, on the same connection where it was kept, is served."""
        client = self.connected()
        client.request(message("tools/call", {"name": "echo", "arguments": {"text": str(seed)}}))
        reply = client.response()
        self.assertIn(str(seed), json.dumps(reply.json.get("result")), reply)

    def test_mutated_messages(self):
        for seed in range(COUNT):
            chance = random.Random(seed)
            body = valid(chance)
            for _ in range(chance.randrange(1, 4)):
                body = mutate_json(body, chance)
                if not isinstance(body, dict) or not body:
                    break
            client = self.connected()
            shape = valid(chance) if chance.random() < 0.2 else message("tools/list")
            octets = client.octets(shape)
            head = octets.partition(b"\r\n\r\n")[0]
            try:
                head = client.octets(body).partition(b"\r\n\r\n")[0]
            except Exception:
                pass  # a body that has no headers of its own goes out with those of another
            raw = json.dumps(body).encode()
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
            client.send(b"\r\n".join(lines) + b"\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw)
            reply = client.response()
            self.check(reply, seed)
            if reply.headers.get("connection") == "close":
                self.hang_up()
            if seed % 10 == 0:
                self.well(seed)
        self.assertLessEqual(len(self.http.open), 1)

    def test_mutated_octets(self):
        self.http.loop._patience = 60.0  # who has sent its last counts as gone while a call is slow
        for seed in range(COUNT // 2):
            chance = random.Random(f"octets {seed}")
            client = self.connected()
            client.send(mutate_octets(client.octets(valid(chance)), chance))
            client.socket.shutdown(socket.SHUT_WR)
            reply = client.response()
            self.check(reply, seed)
            self.hang_up()
            if seed % 10 == 0:
                self.well(seed)
                self.hang_up()


if __name__ == "__main__":
    unittest.main()
