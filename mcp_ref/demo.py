"""The server that `serve` runs when given none, and `library`, one with resources, a template and a prompt."""

from __future__ import annotations

import time
from typing import Annotated, List, Optional

from .base.errors import ResourceNotFound, ToolError
from .server.context import Context
from .server.server import Server

server = Server("mcp_ref-demo", "0.1.0", title="mcp_ref demo",
                instructions="Echo server for the protocol-era examples; greet asks for a name, count reports.")


@server.tool(strict=True)
def echo(ctx: Context, text: Optional[str] = None) -> str:
    """Echo text; asks for it when it is not given."""
    if text is None:
        answer = ctx.elicit("Provide the text to echo", {"text": {"type": "string"}}, "text")
        if not answer.accepted:
            what = "declined" if answer.action == "decline" else "cancelled"
            raise ToolError(f"echo not executed: user {what} the elicitation form")
        return str(answer["text"])
    return text


@server.tool
def greet(ctx: Context) -> str:
    """Greet the user by name, once the user has said what it is."""
    answer = ctx.elicit("What is your name?", {"name": {"type": "string", "minLength": 1}}, "name")
    return f"Hello, {answer['name']}!" if answer.accepted else "Hello, whoever you are!"


@server.tool
def count(ctx: Context, to: Annotated[int, {"minimum": 1, "maximum": 100}] = 5,
          pause: Annotated[float, "seconds between two steps", {"minimum": 0, "maximum": 1}] = 0.1) -> str:
    """Count to a number, reporting progress."""
    for step in range(1, to + 1):
        ctx.progress(step, total=to, message=f"{step} of {to}")
        if step < to:
            time.sleep(pause)
    return f"counted to {to}"


@server.prompt
def introduce(name: str, language: str = "English") -> str:
    """Ask for an introduction of somebody."""
    return f"Introduce {name} to the reader, in {language}."


library = Server("mcp_ref-library", "0.1.0", title="mcp_ref demo with resources",
                 instructions="A small library: the catalogue, a book by its number, and a prompt to review one.")
BOOKS = {"1": "Flatland", "2": "The Machine Stops", "3": "Erewhon"}


@library.tool
def add_book(number: str, title: str) -> str:
    """Put a book into the library; whoever subscribed to its URI or to the catalogue is told."""
    BOOKS[number] = title
    library.notify_resource_updated(f"library://books/{number}")
    library.notify_resource_updated("library://catalogue")
    return f"{title} is number {number}"


@library.resource("library://catalogue", mime_type="text/plain")
def catalogue() -> str:
    """All books, a line each."""
    return "\n".join(f"{number} {title}" for number, title in sorted(BOOKS.items()))


@library.resource("library://books/{number}", mime_type="text/plain")
def book(number: str) -> str:
    """One book, by its number."""
    if number not in BOOKS:
        raise ResourceNotFound()
    return BOOKS[number]


@library.prompt
def review(title: str, tone: str = "kind") -> str:
    """Ask for a review of a book."""
    return f"Write a {tone} review of {title}."


@library.completion("library://books/{number}", "number")
def numbers(value: str) -> List[str]:
    """The numbers that begin with what was typed."""
    return [number for number in sorted(BOOKS) if number.startswith(value)]
