"""The command line: `python -m mcp_ref serve|explain|discover|list|call|read|prompt|listen …`.

Exit status: 0 done; 1 the server or the tool said no; 2 wrong usage, or nothing could be started or reached.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import Any, List, Optional

from .base.errors import McpError


class UsageError(Exception):
    """What the user asked for cannot be done; the message is the one line that is printed."""


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    words = sys.argv[1:] if arguments is None else arguments
    if not words:
        parser().print_help(sys.stderr)
        return 2
    options = parser(client=words[:1] != ["serve"]).parse_args(words)
    try:
        status = options.run(options)
        sys.stdout.flush()
    except (UsageError, McpError) as error:
        print("mcp_ref: " + " ".join(str(error).split()), file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except OSError as error:  # nobody reads, or there is no room: what is left in the buffer cannot be written at exit
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"mcp_ref: cannot go on: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return int(status or 0)


def parser(client: bool = True) -> argparse.ArgumentParser:
    """The argument parser. client: with the client's commands; to serve, they are not even loaded."""
    made = argparse.ArgumentParser(prog="python -m mcp_ref", description="The Model Context Protocol, 2026-07-28.")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _serve_parser(commands)
    if client:
        from . import cli_client

        cli_client.add_commands(commands)
    explain = commands.add_parser("explain", help="print the validation ladder")
    explain.add_argument("topic", nargs="?", help="a rung's name, an HTTP status or an error code such as -32020")
    explain.set_defaults(run=_explain)
    return made


def _serve_parser(commands: Any) -> None:
    serve = commands.add_parser("serve", help="run a server")
    serve.add_argument("server", nargs="?", metavar="MODULE:SERVER", help="the server to run (default: the demo)")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="0 for any free port (default: 8000)")
    serve.add_argument("--path", default="/mcp", help="the endpoint's path (default: /mcp)")
    serve.add_argument("--origin", action="append", default=[], metavar="URL",
                       help="a web origin to let in beside loopback ones, and its host as this server's Host")
    serve.add_argument("--cors", action="append", default=[], metavar="ORIGIN",
                       help="a web origin to let in and to answer with the CORS headers that browsers ask for")
    serve.add_argument("--keep-alive", type=float, default=15.0, metavar="SECONDS",
                       help="between comments on a silent event stream (default: 15)")
    serve.add_argument("--grace", type=float, default=5.0, metavar="SECONDS",
                       help="for answers under way when the server is told to stop (default: 5)")
    serve.add_argument("--state-key-env", metavar="NAME", help="the environment variable with the key that seals "
                       "requestState, shared by all processes; several separated by commas, the newest first")
    serve.add_argument("--trace", action="store_true", help="print the rungs that each request climbs")
    serve.add_argument("--log-level", default="warning", choices=["debug", "info", "warning", "error"],
                       help="of the server's own log, on standard error (default: warning)")
    serve.set_defaults(run=_serve)


def _explain(options: argparse.Namespace) -> int:
    from .ladder import explain

    try:
        print(explain(options.topic))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0


def load_server(name: str) -> Any:
    """The Server that MODULE:SERVER names. Raises UsageError."""
    import importlib

    from .server.server import Server

    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"expected MODULE:SERVER, such as travel:server, not {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"cannot import {module_name}: {type(error).__name__}: {error}") from None
    found = getattr(module, attribute, None)
    if not isinstance(found, Server):
        raise UsageError(f"{module_name} has no {attribute}, or what it has is not a mcp_ref Server")
    return found


def _state_keys(name: Optional[str]) -> List[str]:
    if name is None:
        return []
    keys = [key.strip() for key in os.environ.get(name, "").split(",") if key.strip()]
    if not keys:
        raise UsageError(f"the environment variable {name} holds no state key")
    return keys


def _serve(options: argparse.Namespace) -> int:
    import logging

    from .transports.http_server import HTTPServer, Limits, wait_for_signal

    logging.basicConfig(level=options.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s")
    if options.server is None:
        from .demo import server
    else:
        server = load_server(options.server)
    keys = _state_keys(options.state_key_env)
    try:
        if keys:
            server.set_state_keys(keys)
        running = HTTPServer(server, options.host, options.port, options.path, options.origin,
                             Limits(grace=options.grace), options.cors, options.keep_alive)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot serve on {options.host} port {options.port}: {reason}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.trace:
        server.on_trace = lambda line: print(line, file=sys.stderr, flush=True)
    _allow_open_files()
    with running:
        wait_for_signal(lambda: print(_banner(server, running.url), flush=True))
    if running.busy:  # a handler that did not end in the grace period; one that waits in asyncio would keep the process
        logging.shutdown()
        os._exit(0)
    return 0


def _allow_open_files() -> None:
    """Raise the soft limit on open files to the hard one: each event stream takes one of the usual 1024."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, 10240):  # the second where "unlimited" is not a number that the system takes, as on macOS
        try:
            if wanted == hard or soft < wanted:
                return resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            pass


def _banner(server: Any, url: str) -> str:
    import json

    from .base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
    from .base.versioning import LATEST

    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        PROTOCOL_VERSION: LATEST, CLIENT_INFO: {"name": "curl", "version": "0"}, CLIENT_CAPABILITIES: {}}}})
    kept = "" if server.shared_key else ("\nrequestState is sealed with a key of this process alone; "
                                         "share one across processes with --state-key-env")
    return (f"{server.name} at {url}\n\n"
            f"curl -s {url} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "
            f"-H 'MCP-Protocol-Version: {LATEST}' -H 'Mcp-Method: tools/list' -d '{body}'\n{kept}")
