"""The benchmark: mcp_ref beside a bare `http.server`, the ceiling of Python, and the official SDKs, in one run.

    python3 -m tests.bench                      everything, about ten minutes
    python3 -m tests.bench --install            only install wrk and the peers under build/peers, then stop
    python3 -m tests.bench --only mcp_ref --only bare --seconds 2 --connections 1
    python3 -m tests.bench --json FILE          the figures of every round as well
    python3 -m tests.bench --strict             exit status 1 when a target is missed or could not be measured

Each server is one process, mcp_ref_workers two, in the fastest set-up that its documents give, and answers the same
request, a `tools/call` of a text tool over streamable HTTP in revision 2026-07-28, on loopback. It is started afresh in
each of three rounds whose order alternates; the medians are quoted, with the spread of the rounds (highest less lowest,
by the median). A figure counts only if the answer was right before and after the load and `wrk` saw no error. On two
cores `wrk` takes its share of both from two workers, and of the idle one only from a single process, so that their
ratio stays below 2 whatever the server does. Memory is the highest
resident size (VmRSS) of the serving process and its children under load, in MB of 10^6 bytes. The first answer is
timed from the start of the process until a right answer has been read, the median of five starts.
"""
