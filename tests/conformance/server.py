"""The server that the official conformance suite examines: what the suite asks for, on mcp_ref's public names alone.

    python3 -m tests.conformance.server --port 8000     the options are those of `python3 -m mcp_ref serve`

It is also the largest example of the library: one of each kind of tool, resource and prompt, and each way to ask. Names
and texts are the suite's; http-header-validation calls the first tool listed without arguments.
"""

from __future__ import annotations

import json
import sys
import time
from base64 import b64decode
from typing import Annotated, Any, Dict, List, Union

from mcp_ref import Context, InputRequired, Server, ToolError, ToolResult, content, form, roots, sampling

server = Server("mcp_ref-conformance", "1.0.0", instructions="One of each thing that the conformance suite calls.",
                logging=True)

RED_DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC")
SILENCE = b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==")
NAME = {"name": {"type": "string"}}
OK = {"ok": {"type": "boolean"}}


# Tools: each kind of result


@server.tool
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content() -> content.Block:
    """Return an image of one red pixel."""
    return content.image(RED_DOT, "image/png")


@server.tool
def test_audio_content() -> content.Block:
    """Return one silent sample of audio."""
    return content.audio(SILENCE, "audio/wav")


@server.tool
def test_embedded_resource() -> content.Block:
    """Return a resource inside the result."""
    return content.embedded_resource("test://embedded-resource", "This is an embedded resource content.", "text/plain")


@server.tool
def test_multiple_content_types() -> List[Union[str, content.Block]]:
    """Return a text, an image and a resource."""
    data = json.dumps({"test": "data", "value": 123})
    return ["Multiple content types test:", content.image(RED_DOT, "image/png"),
            content.embedded_resource("test://mixed-content-resource", data, "application/json")]


@server.tool
def test_error_handling() -> str:
    """Fail in a way that the model should read."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool
def test_tool_with_progress(ctx: Context) -> str:
    """Report progress, if the client asked for it."""
    for percent in (0, 50, 100):
        ctx.progress(percent, total=100)
        time.sleep(0.05)
    return "done"


@server.tool
def test_logging_tool(ctx: Context) -> str:
    """Log a message, if the client asked for messages."""
    ctx.log("info", "This is seen by those who ask for it")
    return "logged"


@server.tool
def test_tool_with_logging(ctx: Context) -> str:
    """Log three messages on the way."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log("info", message)
        time.sleep(0.05)
    return "logged thrice"


@server.tool
def test_reconnection(ctx: Context) -> str:
    """Send the client away while it works, where the revision lets a client come back for the result."""
    ctx.close_stream()
    time.sleep(0.1)
    return "here is what you came back for"


# Tools: arguments


@server.tool
def test_mirrored_argument(region: Annotated[str, {"x-mcp-header": "Region"}]) -> str:
    """Take an argument that a header repeats, for routers on the way."""
    return f"region {region}"


@server.tool(input_schema={
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                          "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                   "contactMethod": {"enum": ["phone", "email"]},
                   "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
})
def json_schema_2020_12_tool(arguments: Dict[str, Any]) -> str:
    """Take arguments by a schema that no annotation could express."""
    return f"{len(arguments)} arguments"


# Tools that ask, by the names that the suite had for them before 2026-07-28


@server.tool
def test_sampling(ctx: Context, prompt: str) -> str:
    """Have the client's model answer a prompt."""
    return f"LLM response: {ctx.sample(prompt, 100)['content']}"


@server.tool
def test_elicitation(ctx: Context, message: str) -> str:
    """Ask for a name and an address."""
    return told(ctx.elicit(message, {"username": {"type": "string", "description": "User's response"},
                                     "email": {"type": "string", "description": "User's email address"}}))


@server.tool
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default for each kind of field."""
    return told(ctx.elicit("Please review these", {
        "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5}, "verified": {"type": "boolean", "default": True},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}}))


@server.tool
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask to choose, in each of the forms that a choice has."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
    return told(ctx.elicit("Please choose", {
        "untitledSingle": {"type": "string", "enum": options}, "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}}}))


def told(answer: Any) -> str:
    return f"The user's answer: action={answer.action}, content={json.dumps(answer.content)}"


# Tools that ask


@server.tool(accept_unasked=True)
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name. The suite also answers before it was asked, without requestState."""
    answer = ctx.elicit("What is your name?", NAME, "user_name")
    return f"Hello, {answer['name']}!" if answer.accepted else "Hello, whoever you are!"


@server.tool
def test_input_required_result_sampling(ctx: Context) -> ToolResult:
    """Have the client's model answer a question."""
    return ToolResult([ctx.sample("What is the capital of France?", 100, "capital_question")["content"]])


@server.tool
def test_input_required_result_list_roots(ctx: Context) -> str:
    """List the client's roots."""
    return "\n".join(root["uri"] for root in ctx.list_roots("client_roots"))


@server.tool
def test_input_required_result_request_state(ctx: Context) -> Any:
    """Ask with a result of its own making, and find the state that it gave along."""
    question = form("Please confirm", OK)
    if ctx.input_response("confirm", question) is None:
        return InputRequired({"confirm": question}, request_state="asked")
    if ctx.request_state != "asked":
        raise ToolError("the state is not what was sealed")
    return "state-ok"


@server.tool
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three things in one round."""
    answers = ctx.ask({"user_name": form("What is your name?", NAME),
                       "greeting": sampling("Generate a greeting", 50),
                       "client_roots": roots()})
    return f"{len(answers)} answers"


@server.tool
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask twice, one after the other."""
    name = ctx.elicit("Step 1: What is your name?", NAME, "step1")
    color = ctx.elicit("Step 2: What is your favorite color?", {"color": {"type": "string"}}, "step2")
    return f"{name.get('name')} likes {color.get('color')}"


@server.tool
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask once; the suite then damages the requestState, which never gets here."""
    return f"confirmed: {ctx.elicit('Please confirm', OK, 'confirm').get('ok')}"


@server.tool
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask only what the client has said it can answer."""
    questions = {}
    if "elicitation" in ctx.client_capabilities:
        questions["user_name"] = form("What is your name?", NAME)
    if "sampling" in ctx.client_capabilities:
        questions["greeting"] = sampling("Generate a greeting", 50)
    return f"{len(ctx.ask(questions))} answers"


@server.tool
def test_missing_capability(ctx: Context) -> ToolResult:
    """Need sampling; a client without it is told so (-32021)."""
    return ToolResult([ctx.sample("Generate a greeting", 50, "greeting")["content"]])


@server.tool
def test_streaming_elicitation(ctx: Context) -> str:
    """Report progress, then ask: the question ends the stream, it is no request of its own."""
    ctx.progress(1, total=2)
    return f"confirmed: {ctx.elicit('Please confirm', OK, 'confirm').get('ok')}"


# Tools that change the lists, which those who listen are told


@server.tool
def test_trigger_tool_change() -> str:
    """Add a tool and take it away again."""
    server.add_tool(lambda: "", name="test_passing_tool", description="Gone at once.")
    server.remove_tool("test_passing_tool")
    return "the list of tools has changed, twice"


@server.tool
def test_trigger_prompt_change() -> str:
    """Add a prompt and take it away again."""
    server.add_prompt(lambda: "", name="test_passing_prompt", description="Gone at once.")
    server.remove_prompt("test_passing_prompt")
    return "the list of prompts has changed, twice"


# Resources


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return RED_DOT


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text that clients follow."""
    return "This is the content of the watched resource."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> str:
    """One resource for each id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


# Prompts


@server.prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: Annotated[str, "First test argument"],
                               arg2: Annotated[str, "Second test argument"]) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
def complete_arg1(value: str) -> List[str]:
    return [word for word in ("paris", "park", "party", "test") if word.startswith(value)]


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: Annotated[str, "URI of the resource to embed"]) -> List[Any]:
    """A prompt with a resource inside."""
    return [content.embedded_resource(resourceUri, "Embedded resource content for testing.", "text/plain"),
            "Please process the embedded resource above."]


@server.prompt
def test_prompt_with_image() -> List[Any]:
    """A prompt with an image inside."""
    return [content.image(RED_DOT, "image/png"), "Please analyze the image above."]


@server.prompt
def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that asks."""
    answer = ctx.elicit("What context should the prompt use?", {"context": {"type": "string"}}, "user_context")
    return f"Use this context: {answer.get('context', 'none')}"


if __name__ == "__main__":
    from mcp_ref.cli import main

    sys.exit(main(["serve", "tests.conformance.server:server", *sys.argv[1:]]))
