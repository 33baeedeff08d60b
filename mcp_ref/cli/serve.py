"""The command `serve`: a server found by its name, and run over HTTP or standard input and output."""

from __future__ import annotations

import argparse
import errno
import gc
import json
import logging
import os
import sys
import traceback
from functools import partial
from typing import Any, Callable

from ..base.versioning import ERAS, LATEST
from ..transports.endpoint import MAX_BODY
from .faults import UsageError

OF_HTTP = ("host", "port", "unix", "workers", "path", "origin", "cors", "health", "keep_alive", "grace",
           "legacy_sessions")
EXPECTED = "expected MODULE:SERVER, such as travel:server, a module, or a file such as travel.py"


def add_commands(commands: Any) -> None:
    """Add `serve` to the command line's subparsers."""
    serve = commands.add_parser("serve", help="run a server", description="Run a server.\n\n"
                                "SERVER is MODULE:NAME, such as travel:server, or MODULE or a file such as travel.py, "
                                "for the one Server in it.")
    serve.add_argument("server", nargs="?", metavar="SERVER", help="the server to run (default: the demo)")
    serve.add_argument("--stdio", action="store_true", help="serve the client that started this process, over standard "
                       "input and output, in place of HTTP")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="0 for any free port (default: 8000)")
    serve.add_argument("--unix", metavar="PATH", help="listen on a Unix socket, in place of host and port")
    serve.add_argument("--workers", type=int, default=1, metavar="N",
                       help="processes that share the port, the key of requestState and notifications, and keep no "
                       "sessions of clients before 2026-07-28 (default: 1)")
    serve.add_argument("--path", default="/mcp", help="the endpoint's path (default: /mcp)")
    serve.add_argument("--origin", action="append", default=[], metavar="URL",
                       help="a web origin to let in beside loopback ones, and its host as this server's Host")
    serve.add_argument("--cors", action="append", default=[], metavar="ORIGIN",
                       help="a web origin to let in and to answer with the CORS headers that browsers ask for")
    serve.add_argument("--health", metavar="PATH", help="answer GET on this path with 200, whatever Host and token")
    serve.add_argument("--max-body", type=int, default=MAX_BODY, metavar="OCTETS",
                       help="the largest message that is taken (default: %(default)d)")
    serve.add_argument("--keep-alive", type=float, default=15.0, metavar="SECONDS",
                       help="between comments on a silent event stream (default: 15)")
    serve.add_argument("--grace", type=float, default=5.0, metavar="SECONDS",
                       help="for answers under way when the server is told to stop (default: 5)")
    serve.add_argument("--state-key-env", metavar="NAME", help="the environment variable with the key that seals "
                       "requestState, shared by all processes; several separated by commas, the newest first")
    serve.add_argument("--state-ttl", type=float, metavar="SECONDS",
                       help="how long a requestState holds (default: as the server has it, 600)")
    serve.add_argument("--era", choices=ERAS, help="dual serves 2026-07-28 and the revisions before it, each message "
                       "by itself; the others one of both (default: as the server has it, dual)")
    serve.add_argument("--legacy-sessions", choices=["on", "off"], help="off: keep no sessions of clients before "
                       "2026-07-28; several processes serve them without stickiness, and cannot ask them anything")
    serve.add_argument("--trace", action="store_true", help="print a line for each request: the rungs that it climbs, "
                       "the handler, its round, the answer and the milliseconds")
    serve.add_argument("--log-level", default="warning", choices=["debug", "info", "warning", "error"],
                       help="of the server's own log, on standard error (default: warning)")
    serve.set_defaults(run=_serve, of_http={name: serve.get_default(name) for name in OF_HTTP})


# Finding the server

def load_server(name: str) -> Any:
    """The Server that MODULE:NAME, MODULE or FILE.py names. Raises UsageError."""
    from ..base.copies import other_copy
    from ..server.server import Server

    place, colon, attribute = name.rpartition(":")
    if not colon or not (attribute.isidentifier() and place):
        place, attribute = name, ""
    module = _module(place)
    if not attribute:
        found = {id(value): (key, value) for key, value in vars(module).items()
                 if not key.startswith("__") and (isinstance(value, Server) or other_copy(value, Server))}
        names = [f"{place}:{key}" for key, _ in found.values()]
        if len(names) != 1:
            raise UsageError(f"{place} has several servers; say which: {', '.join(names)}" if names else
                             f"{place} has no Server at the top level; one is made by Server(name, version)")
        attribute = names[0].rpartition(":")[2]
    server = getattr(module, attribute, None)
    if not isinstance(server, Server):
        foreign = other_copy(server, Server)
        raise UsageError(f"{place}:{attribute} is {foreign}" if foreign else
                         f"{place} has no {attribute}, or what it has is not a mcp_ref Server")
    return server


def _module(place: str) -> Any:
    """The module of that name, or of that file where it ends in .py. Raises UsageError for one that does not load."""
    import importlib.util

    path = os.path.abspath(place)
    is_file = place.endswith(".py")
    if is_file and not os.path.isfile(path):
        raise UsageError(f"there is no file {place}")
    if not is_file and not all(part.isidentifier() for part in place.split(".")):
        raise UsageError(f"{EXPECTED}, not {place!r}")
    sys.path.insert(0, os.path.dirname(path) if is_file else os.getcwd())
    try:
        if not is_file:
            return importlib.import_module(place)
        stem = os.path.splitext(os.path.basename(path))[0]
        spec = importlib.util.spec_from_file_location(f"_{stem}" if stem in sys.modules else stem, path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{place}.".startswith(f"{error.name}."):
            raise UsageError(f"there is no module {error.name}: {EXPECTED}") from None
        raise UsageError(f"cannot import {place}: {type(error).__name__}: {error}{_line(error)}") from None


def _line(error: BaseException) -> str:
    """Where the author's own code failed, since this package's lines would tell nothing."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    steps = [step for step in traceback.extract_tb(error.__traceback__)
             if not step.filename.startswith((ours, "<")) and "importlib" not in step.filename]
    return f" ({steps[-1].filename}, line {steps[-1].lineno})" if steps and not isinstance(error, SyntaxError) else ""


# Running it

def _serve(options: argparse.Namespace) -> int:
    streams = _take_over(options) if options.stdio else None
    _load(options.stdio)
    logging.basicConfig(level=options.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s")
    if options.server is None:
        from ..demo import server
    else:
        server = load_server(options.server)
    name = options.state_key_env
    keys = [key.strip() for key in os.environ.get(name or "", "").split(",") if key.strip()]
    if name is not None and not keys:
        raise UsageError(f"the environment variable {name} holds no state key")
    try:
        if options.state_ttl is not None:
            server.set_state_ttl(options.state_ttl)
        if options.era is not None:
            server.set_era(options.era)
        if keys:
            server.set_state_keys(keys)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.trace:
        server.on_trace = lambda line: print(line, file=sys.stderr, flush=True)
    if streams is None:
        ended = _over_http(server, options)
    else:
        from ..transports.stdio import serve_stdio

        ended = serve_stdio(server, streams[0], streams[1], options.max_body)
    if not ended:  # what does not end in the grace period does not keep the process
        logging.shutdown()
        os._exit(0)
    return 0


def _load(stdio: bool) -> None:
    """What serves, at once: all of it stays, and to look for garbage in it on the way takes a tenth of the start."""
    collects = gc.isenabled()
    gc.disable()
    try:
        from ..server import server  # noqa: F401
        if stdio:
            from ..transports import stdio as stdio_  # noqa: F401
        else:
            from ..transports import http_server  # noqa: F401
        if hasattr(gc, "freeze"):  # PyPy has not
            gc.freeze()  # nor ever after, whichever process is forked from here
    finally:
        if collects:
            gc.enable()


def _take_over(options: argparse.Namespace) -> Any:
    """Standard input and output, before anything of the server's is imported that could print."""
    from ..transports.process import take_over

    for name, default in options.of_http.items():
        if getattr(options, name) != default:
            raise UsageError(f"--{name.replace('_', '-')} is of HTTP, and says nothing with --stdio")
    if sys.stdin is not None and sys.stdin.isatty():
        print("reading messages, one a line, until the end of input (Ctrl-D)", file=sys.stderr, flush=True)
    return take_over()


def _over_http(server: Any, options: argparse.Namespace) -> bool:
    """Serve by one process or several, and say whether all handlers ended."""
    if options.workers < 1:
        raise UsageError(f"--workers is a number of processes of at least 1, not {options.workers}")
    if options.workers > 1 and options.legacy_sessions == "on":
        raise UsageError("--legacy-sessions on is for one process, since a session lives in one")
    if options.workers > 1 or options.legacy_sessions is not None:
        server.state.legacy_sessions = options.legacy_sessions == "on"
    running = _bound(server, options)
    _allow_open_files()
    announce = partial(_announce, server, running)
    return _run(running, announce) if options.workers == 1 else _run_several(options.workers, running, announce)


def _bound(server: Any, options: argparse.Namespace) -> Any:
    """An HTTPServer that listens, and has not begun. Raises UsageError."""
    from ..transports.http_server import HTTPServer, Limits

    if not options.grace >= 0:
        raise UsageError(f"--grace is a number of seconds of at least 0, not {options.grace:g}")
    if "" in (options.host, options.unix):  # an empty host would be every address of this machine
        raise UsageError("--host and --unix name a place to listen on, and are not empty")
    try:
        return HTTPServer(server, options.host, options.port, options.path, options.origin,
                          Limits(grace=options.grace, max_body=options.max_body), options.cors, options.keep_alive,
                          options.health, options.unix)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE and not options.unix:
            reason = f"{reason}; --port names another, 0 any free one"
        place = options.unix or f"{options.host} port {options.port}"
        raise UsageError(f"cannot serve on {place}: {reason}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _run(running: Any, announce: Callable[[], None]) -> bool:
    from ..transports.http_server import wait_for_signal

    with running:
        wait_for_signal(announce)
    return not running.abandoned


def _run_several(count: int, running: Any, announce: Callable[[], None]) -> bool:
    """By forked processes, which have a bus between them where the server has none of its own."""
    import tempfile

    from ..transports.bus import UnixBus
    from ..transports.workers import Workers

    running.accepts = 1  # so that whoever is quickest does not take all that come at once
    with tempfile.TemporaryDirectory(prefix="mcp-") as folder:
        try:
            running.mcp.relay.bus = running.mcp.relay.bus or UnixBus(folder)
            Workers(count, lambda: _run(running, lambda: None), running.limits.grace).run(announce)
        except OSError as error:
            raise UsageError(f"cannot run {count} workers: {error.strerror or error}") from None
        finally:
            running.server_close()
    return True


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


def _announce(server: Any, running: Any) -> None:
    """Print where the server is, and a request to paste."""
    import shlex

    from ..base.meta import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION

    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        PROTOCOL_VERSION: LATEST, CLIENT_INFO: {"name": "curl", "version": "0"}, CLIENT_CAPABILITIES: {}}}})
    address = shlex.quote(running.url) if running.unix is None else \
        f"--unix-socket {shlex.quote(running.unix)} http://localhost{running.endpoint.path}"
    kept = "" if server.shared_key else ("\nrequestState is sealed with a key of this process alone; "
                                         "share one across processes with --state-key-env")
    print(f"{server.name} at {running.url}\n\n"
          f"curl -s {address} -H 'Content-Type: application/json' "
          "-H 'Accept: application/json, text/event-stream' "
          f"-H 'MCP-Protocol-Version: {LATEST}' -H 'Mcp-Method: tools/list' -d '{body}'\n{kept}", flush=True)
