"""The server under load: a call to make, and tools that have it tell its subscribers something."""

from mcp_ref import Server

NEWS = "load://news/{number}"
FLOOD = "load://flood/{text}"
FLOOD_OCTETS = 8000  # of a URI; no template matches one of more than 8,192

server = Server("load", "1.0.0")


@server.tool
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@server.tool
def announce(number: int) -> str:
    """Tell every stream: an even number that the tools changed, an odd one that the news of this number are out."""
    if number % 2:
        server.notify_resource_updated(f"load://news/{number}")
    else:
        server.notify_tools_changed()
    return str(number)


@server.tool
def flood(times: int) -> str:
    """Tell the streams that asked for the flood, as fast as can be."""
    for _ in range(times):
        server.notify_resource_updated("load://flood/" + "x" * FLOOD_OCTETS)
    return str(times)


@server.resource(NEWS)
def news(number: str) -> str:
    """What announce tells of."""
    return number


@server.resource(FLOOD)
def water(text: str) -> str:
    """What flood tells of."""
    return text
