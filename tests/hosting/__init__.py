"""mcp_ref in servers that people already run: gunicorn and waitress, and a bus over Redis.

    python3 -m tests.hosting        install into build/hosting, run everything, close with `N passed, N failed`

The servers and the client of Redis come from PyPI, into a virtual environment; Redis itself is Debian's package
`redis-server`. What runs there is app.py; what is asked of it, by our client over a socket, stands in __main__.py.
"""
