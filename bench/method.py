"""The words of the page: how it is read, and how its figures were made."""

from __future__ import annotations

__all__ = ["CURVES_READING", "FURTHER_READING", "GOALS_READING", "INTRO", "METHOD", "READING"]

INTRO = """\
# Benchmarks

Signet, the official Python SDK's low-level and high-level servers, FastMCP, both versions of the TypeScript SDK and \
bare servers serve the same tool, `encodePlantUML`, on the same machine in the same minutes. `make bench` measures \
again and rewrites this page; `make bench ARGS=--draw` draws it from [benchmarks.json](benchmarks.json), where every \
round is kept."""

GOALS_READING = """\
Signet's value divided by the peer's within one round: the median of the rounds, in brackets the smallest and the \
largest round. A goal is met when the median reaches it. Of several peers, the hardest to reach is named."""

FURTHER_READING = "Read in the same way."

READING = """\
Each figure is Signet's value divided by the peer's within one round, then the median of the rounds; in \
brackets the smallest and the largest round. `1/8.0` is an eighth of the peer's time or memory; `8.0x` is \
eight times its calls. A peer that cannot do what a line is about is not in it."""

CURVES_READING = "The median of the rounds at each place of a curve."

METHOD = """\
- Every server does the same work: raw deflate at level 9, then PlantUML's alphabet. Payloads are 372 \
bytes (small) and 19,859 bytes (large); every call carries another text. The bytes of a deflate differ from one zlib \
to another, so an answer is judged by its inflation.
- Signet runs as shipped: it checks each input and each output against its JSON Schema, and keeps its journal. The \
SDK's low-level server does neither; its high-level server and FastMCP check by types, the TypeScript SDK by zod.
- The bare server has Signet's codec (msgspec), validator (jsonschema-rs, on input and output), contract and tool, \
and nothing else: no limits, no cancellation, no journal, hardly a check of the protocol. On stdio it is a loop over \
blocking reads and writes, over HTTP an ASGI application under uvicorn. The bare protocol is the same over HTTP \
without ASGI: a parser of httptools on uvloop. For cold start the bare server imports only what a server with this \
contract cannot do without: msgspec, jsonschema-rs, deflate and base64.
- Over HTTP the peers run stateless with JSON answers; those in Python under uvicorn with uvloop and httptools, \
without an access log, those of the TypeScript SDK on `node:http` with a server for each request, as the SDK documents \
it. FastMCP's tool and that of the SDK's high-level server are coroutines, which spares them a worker thread. \
Version 1 of the TypeScript SDK knows the handshake era alone. All requests of a cell have the same head, which \
Signet keeps parsed; a head that it has not seen costs it some 5 µs more.
- Memory is what the kernel counts: resident now (`VmRSS`) and at its peak (`VmHWM`), right after the start, after \
10,000 calls and after 100,000, with 64 calls in flight on stdio and on 16 connections over HTTP. Servers that would \
take minutes for 100,000 calls make 10,000. Up to 2% more after 100,000 calls than after 10,000 counts as no growth.
- Options are measured by turns with a server that has none of them: metrics, an access log, OpenTelemetry with a \
collector that answers at once, a rate limit that no call reaches, counted in memory or in a Redis server on a unix \
socket (on the client's core), and an audit log.
- Of the wrappers, each stands in front of the same server on stdio, which has the bare server's loop, and is measured \
beside that server itself (direct). The time that a wrapper adds is its median minus the server's within one round; \
over HTTP too, since what a caller pays is the whole way. FastMCP's proxy has one session for all calls, which is the \
fastest way that it has; mcp-proxy runs stateless. Signet checks every input and every output against the server's \
schemas, and keeps its journal; the others check nothing.
- Curves: the number of tools that a server lists, the size of an argument, the number of connections, the number of \
workers (server and load then share all cores), and ten minutes of calls. OJ and BOJ are called end to end against \
sandboxes on this machine, beside the time that the sandbox itself takes for the same requests.
- A round takes each cell to one server after the other, in an order that rotates from round to round; \
servers are started afresh for each round. Each cell is warmed up before its clock starts.
- Every answer's id and shape are checked, and one in fifty is inflated and compared with its source, after \
the clock has stopped.
- The bound does no work and shows what the measuring itself costs: a bare `python -c pass` for cold start, \
`cat` on stdio, an echo on uvloop over HTTP.
- Large payloads are bounded by deflate itself, which all servers share.
- An own tool, served from its file as a user serves it, stands beside the same body and contract written as a \
built-in toolset is: a quick function on the event loop, a coroutine, and work in a thread (`asyncio.to_thread` in \
a built-in tool). Against `encodePlantUML`, the shipped tool and a quick function, stands what each kind costs.
- Conversion and decoding are timed in this process, without a server. Every conversion gets another page; decoding \
turns an answer of the Bank of Japan's shape into checked series, beside `json.loads` of the same bytes, whose memory \
is what Python's own objects take."""
