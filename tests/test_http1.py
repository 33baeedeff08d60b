"""HTTP/1.1 without a socket: bodies in chunks, and what two readers could read differently."""

import unittest

from mcp_ref.lib.http1 import Chunks, Malformed, TooMuch

from .support import Timed


class Bodies(Timed):
    def read(self, pieces, limit=4_000_000):
        chunks, buffer = Chunks(limit), bytearray()

        def feed():
            for piece in pieces:
                buffer.extend(piece)
                if chunks.feed(buffer):
                    return bytes(chunks.body)
            return None
        return self.soon(feed)

    def test_chunks_of_one_octet(self):
        wire = b"1\r\nx\r\n" * 200_000 + b"0\r\n\r\n"
        for size in (65536, 3):
            pieces = [wire[start:start + size] for start in range(0, len(wire), size)]
            self.assertEqual(self.read(pieces), b"x" * 200_000)

    def test_a_body_beyond_its_limit(self):
        with self.assertRaises(TooMuch):
            self.read([b"5\r\nabcde\r\n", b"1\r\n"], 5)

    def test_what_another_reader_could_take_for_the_end_of_a_body(self):
        for lines in (b"0\r\nA: b\nC: d\r\n\r\n", b"0\r\n\n\r\n\r\n", b"0\r\ngarbage\r\n\r\n", b"0\r\nA: \x00\r\n\r\n",
                      b"0 \r\n\r\n", b"0;a\x01\r\n\r\n"):
            with self.assertRaises(Malformed, msg=lines):
                self.read([lines])
        self.assertEqual(self.read([b"0;a=b\r\nA: b\r\n\r\n"]), b"")


if __name__ == "__main__":
    unittest.main()
