"""Many event streams on one process: `python3 -m tests.load`.

A server is started as `mcp_ref serve` starts any; its streams are held by one client, the calls beside them are made
by another process. Every figure of the calls is measured twice in the same run, without streams and with them, so
that a busy machine weighs on both.
"""
