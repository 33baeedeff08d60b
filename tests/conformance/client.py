"""The client that the official conformance suite examines: what each scenario wants done, on mcp_ref's public names.

    python3 -m tests.conformance.client URL     as the suite calls it, the scenario named in MCP_CONFORMANCE_SCENARIO

It closes with one line, `done` or `failed: ` and the error, and exit status 0 or 1, so that what the suite keeps of
its output tells an error of the library's from a crash.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any, Callable, Dict

from mcp_ref import Client, ClientCredentials, EnterpriseManaged, JWTBearer, McpError, OAuth, accept
from tests import p256

DOCUMENT = "https://conformance-test.local/client-metadata.json"
REDIRECT = "http://localhost:3000/callback"
TIMEOUT = 60.0
"""Seconds for one call: the suite starts all of its scenarios at once."""

Run = Callable[[str, Dict[str, Any]], None]


def connect(url: str, **options: Any) -> Client:
    """A client of the era that the suite has set up."""
    legacy = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] < "2026-07-28"
    era: Dict[str, Any] = {"era": "legacy"} if legacy else {}
    return Client(url, name="mcp_ref-conformance", version="1.0.0", timeout=TIMEOUT,
                  on_elicit=lambda question: accept({}), **era, **options)


def begins(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        client.discover()


def lists(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        client.list_tools()


def calls(name: str, **arguments: Any) -> Run:
    """List the tools, then call one of them."""
    def run(url: str, context: Dict[str, Any]) -> None:
        with connect(url) as client:
            client.list_tools()
            client.call_tool(name, arguments)

    return run


def asks_for_the_state(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
            client.call_tool(f"test_mrtr_{name}")


def one_of_each(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        for tool in client.list_tools():
            client.call_tool(tool["name"], {})
        for resource in client.list_resources():
            client.read_resource(resource["uri"])
        for prompt in client.list_prompts():
            client.get_prompt(prompt["name"])


def calls_as_told(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        client.list_tools()
        for call in context["toolCalls"]:
            client.call_tool(call["name"], call["arguments"])


def calls_what_is_listed(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        for tool in client.list_tools():
            client.call_tool(tool["name"], {"region": "us-west1"})


def echoes_a_schema(url: str, context: Dict[str, Any]) -> None:
    with connect(url) as client:
        schemas = {tool["name"]: tool["inputSchema"] for tool in client.list_tools()}
        client.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


class NotFollowed(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the answer that it is."""

    def redirect_request(self, *_: Any) -> None:
        return None


def visit(url: str) -> str:
    """Log in without a browser: the suite's authorization endpoint sends back at once."""
    try:
        urllib.request.build_opener(NotFollowed).open(url, timeout=TIMEOUT)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.headers["Location"] or ""
    raise AssertionError("the authorization endpoint did not redirect")


def logs_in(url: str, context: Dict[str, Any], **options: Any) -> None:
    auth = OAuth(context.get("client_id"), context.get("client_secret"), metadata_url=DOCUMENT, redirect_uri=REDIRECT,
                 visit=visit, **options)
    lists_and_calls(url, auth)


def lists_and_calls(url: str, auth: Any) -> None:
    """Two requests, the second of which may need more than the first."""
    with connect(url, auth=auth) as client:
        for tool in client.list_tools():
            client.call_tool(tool["name"], {})


def binds_its_tokens(url: str, context: Dict[str, Any]) -> None:
    logs_in(url, context, dpop=p256.signer())


def proves_itself_by_key(url: str, context: Dict[str, Any]) -> None:
    signer = p256.signer(p256.private_key(context["private_key_pem"]))
    lists_and_calls(url, ClientCredentials(context["client_id"], signer=signer))


def proves_itself_by_secret(url: str, context: Dict[str, Any]) -> None:
    lists_and_calls(url, ClientCredentials(context["client_id"], context["client_secret"]))


def is_managed(url: str, context: Dict[str, Any]) -> None:
    lists_and_calls(url, EnterpriseManaged(
        context["client_id"], context["client_secret"], id_token=context["idp_id_token"],
        idp_token_endpoint=context["idp_token_endpoint"], idp_client_id=context["idp_client_id"]))


def is_a_workload(url: str, context: Dict[str, Any]) -> None:
    lists_and_calls(url, JWTBearer(context["client_id"], assertion=context["valid_jwt"]))


SCENARIOS: Dict[str, Run] = {
    "initialize": begins,
    "tools_call": calls("add_numbers", a=5, b=3),
    "elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults"),
    "sse-retry": calls("test_reconnection"),
    "request-metadata": lists,
    "sep-2322-client-request-state": asks_for_the_state,
    "http-standard-headers": one_of_each,
    "http-custom-headers": calls_as_told,
    "http-invalid-tool-headers": calls_what_is_listed,
    "json-schema-ref-no-deref": lists,
    "json-schema-2020-12-preservation": echoes_a_schema,
    "auth/client-credentials-jwt": proves_itself_by_key,
    "auth/client-credentials-basic": proves_itself_by_secret,
    "auth/enterprise-managed-authorization": is_managed,
    "auth/wif-jwt-bearer": is_a_workload,
    "auth/dpop": binds_its_tokens,
    "auth/dpop-nonce": binds_its_tokens,
}
"""Every other scenario of authorization is a login."""


def main() -> int:
    """Run the scenario that the environment names; the exit status."""
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    try:
        SCENARIOS.get(name, logs_in)(sys.argv[1], json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")))
    except McpError as error:
        print(f"failed: {type(error).__name__}: {error}")
        return 1
    print("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
