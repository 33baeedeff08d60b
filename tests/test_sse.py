"""Event streams as they are read: the format's corner cases, octet by octet, the bound on an event, and the cost."""

import itertools
import unittest
from typing import Any, Iterable, List

from mcp_ref.base.errors import TransportError
from mcp_ref.transports import sse

from .support import proves

LIMIT = 1000


def read(*chunks: bytes, limit: int = LIMIT) -> List[bytes]:
    return list(sse.messages(chunks, limit))


def octets(data: bytes) -> Iterable[bytes]:
    return (data[i:i + 1] for i in range(len(data)))


@proves("C039")
class Format(unittest.TestCase):
    CASES: Any = (
        (b"data: a\n\n", [b"a"]), (b"data:a\n\n", [b"a"]), (b"data:  a \n\n", [b" a "]), (b"data: a\r\r", [b"a"]),
        (b"data: a\r\n\r\n", [b"a"]), (b"data: a\rdata: b\ndata: c\r\n\n", [b"a\nb\nc"]),
        (b"data: a\n\n\n\r\r\n\rdata: b\n\n", [b"a", b"b"]), (b"data: a\n\r\n", [b"a"]),
        (b"data\n\ndata\ndata\n\ndata:", [b"", b"\n"]), (b"data:\ndata: a\ndata:\n\n", [b"\na\n"]),
        (b"event: message\n\n", []), (b"", []), (b"\n\n", []), (b":\n\n: x\n\n", []),
        (b": c\nevent: e\nid: 1\nretry: 5\ndata: a\nother\n\n", [b"a"]), (b" data: a\n\n", []), (b"Data: a\n\n", []),
        (b"data: a", []), (b"data: a\n", []), (b"data: a\r", []), (b"data: a\n\ndata: b\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]), (b"\xef\xbb\xbf\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []), (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
        ("data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
         ["a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode()]),
        (b"data: a:b: c\n\n", [b"a:b: c"]), (b"data: \x00\xff\n\n", [b"\x00\xff"]))

    def test_the_same_however_the_octets_arrive(self) -> None:
        for stream, expected in self.CASES:
            self.assertEqual(read(stream), expected, stream)
            self.assertEqual(list(sse.messages(octets(stream), LIMIT)), expected, stream)
            with_empty = itertools.chain.from_iterable((b"", each) for each in octets(stream))
            self.assertEqual(list(sse.messages(with_empty, LIMIT)), expected, stream)
            for cut in range(len(stream)):
                self.assertEqual(read(stream[:cut], stream[cut:]), expected, (stream, cut))

    def test_an_event_is_there_as_soon_as_its_last_octet(self) -> None:
        for end in (b"\n\n", b"\r\r", b"\r\n\r", b"\n\r", b"\r\n\n"):
            came: List[bytes] = []

            def chunks(end: bytes = end, came: List[bytes] = came) -> Any:
                for octet in octets(b"data: a" + end):
                    self.assertEqual(came, [], end)
                    yield octet
                raise AssertionError("it was waited for more")

            self.assertEqual(next(sse.messages(chunks(), LIMIT)), b"a")

    def test_what_is_written_is_read(self) -> None:
        self.assertEqual(read(sse.KEEP_ALIVE + sse.event(b"{}") + sse.KEEP_ALIVE), [b"{}"])


class Bounds(unittest.TestCase):
    def endless(self, part: bytes, begin: bytes = b"") -> None:
        stream = itertools.chain([begin], itertools.repeat(part, 2 * LIMIT))
        with self.assertRaisesRegex(TransportError, f"exceeds {LIMIT} octets"):
            list(sse.messages(stream, LIMIT))

    def test_a_line_without_end(self) -> None:
        for begin in (b"", b"data: ", b": ", b"id: ", b"data: a\n\n", b"data: a\r"):
            for part in (b"x", b"\0", b"x" * 99):
                self.endless(part, begin)

    def test_an_event_without_end(self) -> None:
        for part in (b"data: x\n", b"data:\n", b"data\r", b"data:\r\n", b"id: 1\n", b"event: e\n", b"other\n"):
            self.endless(part)
            self.endless(part, b"data: a\n\n: c\n")

    def test_comments_and_events_may_go_on_for_ever(self) -> None:
        for part, count in ((b": alive\n", 0), (b":\n", 0), (b"\n", 0), (b"data: 12345\n\n", 2 * LIMIT)):
            self.assertEqual(len(list(sse.messages(itertools.repeat(part, 2 * LIMIT), LIMIT))), count)

    def test_the_bound_is_of_each_event(self) -> None:
        whole = b"data: " + b"x" * 900 + b"\n\n"
        self.assertEqual([len(each) for each in read(whole, whole)], [900, 900])
        with self.assertRaises(TransportError):
            read(b"data: " + b"x" * 600 + b"\n", b"data: " + b"x" * 600 + b"\n\n")


class Counted(bytes):
    """Octets that count how many are copied or looked at by what is done with them, and so do those made of them."""

    touched = 0

    def _did(self, made: Any) -> "Counted":
        Counted.touched += max(len(self), len(made))
        return Counted(made)

    def __add__(self, other: Any) -> "Counted":
        return self._did(bytes(self) + bytes(other))

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, bytearray):
            return NotImplemented  # it grows in place, at the cost of what is added
        return self._did(bytes(other) + bytes(self))

    def __getitem__(self, key: Any) -> Any:
        return self._did(super().__getitem__(key))

    def replace(self, *given: Any) -> "Counted":
        return self._did(super().replace(*given))

    def split(self, *given: Any) -> Any:
        return [self._did(part) for part in super().split(*given)]


class Cost(unittest.TestCase):
    def touched(self, data: bytes, size: int) -> float:
        """How often each octet of a stream is touched, with chunks of `size` octets."""
        Counted.touched = 0
        chunks = (Counted(data[i:i + size]) for i in range(0, len(data), size))
        self.assertEqual(sum(map(len, sse.messages(chunks, 2 * len(data)))), len(data) - 8)
        return Counted.touched / len(data)

    def test_reading_is_linear(self) -> None:
        for count in (10, 1000):
            self.assertLess(self.touched(b"data: " + b"x" * 100 * count + b"\n\n", 100), 10)

    def test_sixteen_megabytes_in_one_event(self) -> None:
        data, size = b"data: " + b"x" * (16 << 20) + b"\n\n", 1024
        message, = sse.messages((data[i:i + size] for i in range(0, len(data), size)), 2 * len(data))
        self.assertEqual(len(message), 16 << 20)


if __name__ == "__main__":
    unittest.main()
