"""The conformance fixture starts and lists what the suite calls, and its runner tells good results from bad ones."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .conformance import __main__ as runner
from .conformance import client as client_fixture
from .conformance import clients
from .conformance.server import server
from .support import RawClient, call, message, post

TOOLS = {
    "test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource",
    "test_multiple_content_types", "test_error_handling", "test_tool_with_progress", "test_logging_tool",
    "test_tool_with_logging", "test_reconnection", "test_sampling", "test_elicitation",
    "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool", "test_missing_capability", "test_streaming_elicitation", "test_trigger_tool_change",
    "test_trigger_prompt_change", *("test_input_required_result_" + name for name in (
        "elicitation", "sampling", "list_roots", "request_state", "multiple_inputs", "multi_round", "tampered_state",
        "capabilities")),
}
PROMPTS = {"test_simple_prompt", "test_prompt_with_arguments", "test_prompt_with_embedded_resource",
           "test_prompt_with_image", "test_input_required_result_prompt"}


def check(status, **more):
    return {"id": "a-check", "status": status, **more}


class Fixture(unittest.TestCase):
    def listed(self, method, member):
        return post(server, message(method)).result[member]

    def test_tools(self):
        tools = {tool["name"]: tool for tool in self.listed("tools/list", "tools")}
        self.assertLessEqual(TOOLS, tools.keys())
        self.assertEqual([name for name, tool in tools.items() if not tool.get("description")], [])
        self.assertNotIn("required", next(iter(tools.values()))["inputSchema"], "the first is called without arguments")
        headers = [schema.get("x-mcp-header") for tool in tools.values()
                   for schema in tool["inputSchema"]["properties"].values()]
        self.assertTrue(any(headers), "no tool has an argument that a header repeats")

    def test_tools_without_arguments_answer_or_ask(self):
        for name in sorted(TOOLS - {"json_schema_2020_12_tool", "test_error_handling", "test_sampling",
                                    "test_elicitation"}):
            with self.subTest(tool=name):
                self.assertNotIn("isError", call(server, name).result)

    def test_resources_and_prompts(self):
        uris = {resource["uri"] for resource in self.listed("resources/list", "resources")}
        self.assertLessEqual({"test://static-text", "test://static-binary", "test://watched-resource"}, uris)
        read = post(server, message("resources/read", {"uri": "test://template/123/data"})).result["contents"]
        self.assertEqual(json.loads(read[0]["text"])["id"], "123")
        self.assertLessEqual(PROMPTS, {prompt["name"] for prompt in self.listed("prompts/list", "prompts")})

    def test_the_lists_are_as_before_once_they_have_changed(self):
        before = self.listed("tools/list", "tools"), self.listed("prompts/list", "prompts")
        call(server, "test_trigger_tool_change")
        call(server, "test_trigger_prompt_change")
        self.assertEqual(before, (self.listed("tools/list", "tools"), self.listed("prompts/list", "prompts")))

    def test_it_starts_on_a_free_port(self):
        with tempfile.TemporaryDirectory() as folder, runner.fixture(Path(folder) / "log") as url:
            with RawClient(url) as client:
                client.request(message("tools/call", {"name": "test_simple_text"}))
                self.assertEqual(client.response().status, 200)


class Runner(unittest.TestCase):
    def test_objections(self):
        good = check("SUCCESS")
        for checks, expected in [
            ([good, check("INFO")], None),
            ([good, check("FAILURE", errorMessage="no")], ("FAILED", "a-check: no")),
            ([good, check("WARNING", errorMessage="hm")], ("WARNING", "a-check: hm")),
            ([good, check("WARNING"), check("FAILURE")], ("FAILED", "a-check: failure")),
            ([good, check("SKIPPED")], ("FAILED", "a-check: skipped")),
            ([check("INFO")], ("FAILED", "a-check: info")),
            ([], ("FAILED", "it broke off without a result")),
        ]:
            with self.subTest(checks=checks):
                self.assertEqual(runner.objection("a", checks), expected)

    def test_what_the_suite_lets_a_server_off_is_wanted(self):
        wanted = runner.WANTED["server-sse-polling"]
        for left_out, expected in ((None, None), *((id, ("FAILED", f"no success of {id}")) for id in wanted)):
            checks = [{"id": id, "status": "INFO" if id == left_out else "SUCCESS"} for id in wanted]
            self.assertEqual(runner.objection("server-sse-polling", checks), expected)

    def test_results_are_read_in_the_order_of_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, seconds in (("b-b", 1), ("a", 2)):
                Path(folder, f"server-{name}-2026-07-28T00-00-0{seconds}-000Z").mkdir()
            Path(folder, "server.log").touch()
            Path(folder, "server-a-2026-07-28T00-00-02-000Z", "checks.json").write_text("[{}]", encoding="utf-8")
            self.assertEqual(list(runner.results(Path(folder)).items()), [("b-b", []), ("a", [{}])])

    def test_fewer_scenarios_than_expected_fail_and_extensions_do_not_count(self):
        good = [check("SUCCESS")]
        self.assertEqual(runner.EXPECTED, {"2026-07-28": 40, "2025-11-25": 33})
        for number, expected in ((3, (3, 0)), (1, (1, 1))):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                counted = runner.report({**{f"s{i}": good for i in range(number)}, "tasks-wire": []}, 3)
            self.assertEqual(counted, expected)
            self.assertIn("not scored tasks-wire: 0 of 0 checks passed", said.getvalue())


class ClientHalf(unittest.TestCase):
    """The client's runner believes neither the suite's exit status nor the client's alone."""

    def test_objections(self):
        good = check("SUCCESS")
        for checks, ending, scenario, expected in [
            ([good, check("INFO"), check("SKIPPED")], "done", "tools_call", None),
            ([good], "failed: AuthorizationError: no", "auth/iss-normalized", None),
            ([good, check("FAILURE", errorMessage="no")], "done", "tools_call", "a-check (failure): no"),
            ([good, check("WARNING", description="hm")], "done", "tools_call", "a-check (warning): hm"),
            ([good, check("UNHEARD-OF", description="hm")], "done", "tools_call", "a-check (unheard-of): hm"),
            ([check("INFO"), check("SKIPPED")], "done", "tools_call", "no check passed"),
            ([], "done", "tools_call", "no check passed"),
            ([good], "failed: McpError: no", "tools_call", "the client ended so: failed: McpError: no"),
            ([good], "", "auth/iss-normalized", "the client ended so: without a word"),
            ([good], "Killed", "auth/iss-normalized", "the client ended so: Killed"),
        ]:
            with self.subTest(checks=checks, ending=ending):
                self.assertEqual(clients.objection(scenario, clients.Result(checks, ending)), expected)

    def test_results_of_scenarios_in_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("auth/a-b-2026-07-28T00-00-01-000Z", "c-2026-07-28T00-00-00-000Z", "other"):
                made = Path(folder, name)
                made.mkdir(parents=True)
                (made / "stdout.txt").write_text("said\ndone\n", encoding="utf-8")
            Path(folder, "auth/a-b-2026-07-28T00-00-01-000Z", "checks.json").write_text("[{}]", encoding="utf-8")
            self.assertEqual(clients.results(Path(folder)), {"auth/a-b": ([{}], "done"), "c": ([], "done")})

    def test_fewer_scenarios_than_expected_fail(self):
        good = clients.Result([check("SUCCESS")], "done")
        bad = clients.Result([check("FAILURE", errorMessage="no")], "done")
        for found, expected, counts in (({"a": good, "b": good}, 2, (2, 0)), ({"a": good, "b": bad}, 2, (1, 1)),
                                        ({"a": good}, 3, (1, 2)), ({}, 39, (0, 39))):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(clients.report(found, expected), counts)
            self.assertEqual(said.getvalue().count("FAILED"), (counts[1] > 0))

    def test_the_fixture_says_how_it_ended(self):
        def fails(url, context):
            raise client_fixture.McpError("not today")

        named = mock.patch.dict(os.environ, MCP_CONFORMANCE_SCENARIO="a")
        called = mock.patch.object(sys, "argv", ["client", "http://h/"])
        for run, status, said in ((lambda url, context: None, 0, "done\n"),
                                  (fails, 1, "failed: McpError: not today\n")):
            with mock.patch.dict(client_fixture.SCENARIOS, a=run), named, called:
                with contextlib.redirect_stdout(io.StringIO()) as told:
                    self.assertEqual(client_fixture.main(), status)
            self.assertEqual(told.getvalue(), said)


if __name__ == "__main__":
    unittest.main()
