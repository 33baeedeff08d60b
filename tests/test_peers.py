"""The interoperability table: what it sums up, and that the README has it as `make peers` writes it."""

import unittest
from pathlib import Path

from .peers import table
from .peers.__main__ import matches, pairs
from .peers.catalogue import EVERY_WAY, PEERS, Way
from .peers.steps import ALL, BEFORE, DIFFERENCES, FEATURES, HTTP, LEGACY, MODERN, STDIO, expected
from .support import ROOT


class Catalogue(unittest.TestCase):
    def test_every_peer_is_pinned_and_has_its_programs(self):
        for peer in PEERS:
            self.assertTrue(peer.calls or peer.serves, peer.name)
            for package in peer.packages:
                self.assertRegex(package, r"^(@[\w-]+/)?[\w.-]+(\[\w+\])?(==|@)\d+(\.\d+)+$")
            for program in filter(None, (peer.client, peer.server)):
                self.assertTrue((ROOT / "tests" / "peers" / program[0]).is_file(), program)

    def test_every_step_is_of_one_feature(self):
        self.assertEqual(sorted(step for steps in FEATURES.values() for step in steps), sorted(ALL))
        self.assertLessEqual(set(BEFORE), set(ALL))
        for peer in PEERS:
            self.assertLessEqual(set(peer.steps), set(ALL), peer.name)

    def test_every_difference_is_of_a_peer_and_a_step_that_it_does(self):
        named = {peer.name: peer for peer in PEERS}
        for each in DIFFERENCES:
            peer = named[each.peer.replace(" server", "")]
            self.assertIn(each.step, peer.steps, each.peer)
            self.assertEqual(expected(each.peer, each.step, each.transport or HTTP, each.era or MODERN),
                             (each.said, each.why))

    def test_both_eras_and_transports_are_tried_in_both_directions(self):
        self.assertEqual({way for peer in PEERS for way in peer.calls}, set(EVERY_WAY))
        self.assertLessEqual({Way(HTTP, MODERN), Way(STDIO, MODERN)}, {way for peer in PEERS for way in peer.serves})

    def test_a_pair_has_one_of_ours_and_asks_for_what_the_peer_does(self):
        for peer in PEERS:
            for way in EVERY_WAY:
                for part, pair in pairs(peer, way):
                    self.assertIn(way, peer.calls if part == "client" else peer.serves)
                    self.assertLessEqual(set(pair.steps), set(peer.steps))
                    self.assertEqual(sum("mcp_ref" in word for word in pair.name.split(" < ")), 1, pair.name)


class Verdicts(unittest.TestCase):
    def test_an_error_matches_by_a_part_of_its_words(self):
        self.assertTrue(matches({"error": "refused", "words": "it broke off"}, {"error": "refused", "words": "broke"}))
        self.assertFalse(matches({"error": "refused", "words": "it broke off"}, {"error": "refused", "words": "bent"}))
        self.assertFalse(matches({"got": "5"}, {"got": 5}))
        self.assertFalse(matches({}, {"got": None}))

    def test_a_cell_tells_the_worst(self):
        way = Way(HTTP, LEGACY)
        for verdicts, word in (({}, "–"), ({"list_prompts": ["ok"]}, "part"),
                               ({"list_prompts": ["ok"], "get_prompt": ["ok", "ok"]}, "yes"),
                               ({"list_prompts": ["ok"], "get_prompt": ["ok", "differs"]}, "differs"),
                               ({"list_prompts": ["FAILED"], "get_prompt": ["differs"]}, "no")):
            self.assertEqual(table.cell("prompts", way, verdicts), word)

    def test_the_end_of_a_stream_counts_where_there_are_streams(self):
        heard = {"listen": ["ok"]}
        self.assertEqual(table.cell("changes", Way(STDIO, MODERN), heard), "yes")
        self.assertEqual(table.cell("changes", Way(HTTP, MODERN), heard), "part")

    def test_headers_that_repeat_arguments_are_of_http_and_the_new_era(self):
        said = {step: ["ok"] for step in FEATURES["mirrored"]}
        self.assertEqual([table.cell("mirrored", way, said) for way in EVERY_WAY], ["yes", "–", "–", "–"])


class Readme(unittest.TestCase):
    def test_it_has_the_table_as_it_is_written(self):
        text = Path(table.README).read_text(encoding="utf-8")
        self.assertEqual((text.count(table.BEGIN), text.count(table.END)), (1, 1))
        block = text.partition(table.BEGIN)[2].partition(table.END)[0]
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.split("\n") if line]
        self.assertEqual(tuple(head), table.HEAD)
        found = {(row[0], row[1], Way(*row[2:4])) for row in rows}
        self.assertEqual(len(found), len(rows))
        self.assertEqual(found, {(f"{peer.name} {peer.version}", part, way) for peer in PEERS
                                 for part, ways in (("client", peer.calls), ("server", peer.serves)) for way in ways})
        for row in rows:
            self.assertEqual(len(row), len(head), row)
            self.assertLessEqual(set(row[4:]), set(table.WORDS), row)
            self.assertNotIn("no", row[4:], row)

    def test_a_row_is_a_line(self):
        cells = {("FastMCP", "client", Way(HTTP, MODERN)): {step: ["ok"] for step in ALL}}
        lines = table.text(cells).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[2].startswith("| FastMCP 4.2.3 | client | HTTP | 2026-07-28 | yes | "), lines[2])


if __name__ == "__main__":
    unittest.main()
