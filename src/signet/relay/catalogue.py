"""What all wrapped servers list together: tools beside one's own, prompts and resources, and who serves which.

With one server alone its names and lists are its own. With several, the names of tools and prompts begin with the
server's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from signet.kernel.errors import INVALID_PARAMS, Fault
from signet.kernel.protocol import Identity, listing
from signet.kernel.relay import RpcRequest
from signet.kernel.schemas import PREFIX, SchemaRegistry
from signet.kernel.tools import Tool, Toolbox
from signet.kernel.wire import ProtocolError, encode
from signet.mcp.messages import members, text_of
from signet.mcp.session import Answer, ClientSession
from signet.mcp.snapshot import KINDS, LISTS, Snapshot

from .claimed_uris import ClaimedUris
from .hello import hello_as_said, hello_of
from .listing import Flaws, Listed, Terms, list_tools, name_of, nearest_of, over_budget, slug_for, with_prefix
from .readings import Reading, Readings
from .sent_params import REFERENCE, check_prompt, prompt_arguments
from .translation import capabilities_for, for_handshake, for_modern, listed_for_handshake
from .wrapped_server import WrappedServer

__all__ = ["Catalogue"]


LONG_LIST_BYTES: Final = 65_536
"""The size from which a list of tools is looked at in a thread."""


def _nothing(*_: object) -> None:
    """Do nothing."""


class Catalogue:
    """The lists of some servers, beside one's own tools."""

    def __init__(
        self,
        servers: Sequence[WrappedServer],
        toolbox: Toolbox,
        registry: SchemaRegistry,
        identity: Identity,
        *,
        prefixed: bool,
        log: Callable[..., None],
        instructions: str = "",
        limited: Sequence[str] = (),
    ) -> None:
        self.servers = list(servers)
        self._toolbox = toolbox
        self._registry = registry
        self._identity = identity
        self._instructions = instructions
        self._own = Toolbox(*toolbox.groups)
        self._prefixed = prefixed
        self._log = log
        self._limited = limited
        self._told: set[str] = set()
        """The names in settings that have been reported as unknown tools."""
        self._snapshots: dict[str, Snapshot] = {}
        self._uris = ClaimedUris(log)
        self._prompts: dict[str, tuple[tuple[Raw, ...], dict[str, Raw]]] = {}  # as they were listed, and by name
        self._listed: dict[str, list[Listed]] = {}
        self.readings = Readings(self._read, self._snapshots.get, log)
        self.is_known = not self.servers
        """Whether the tools of all servers are known."""
        self._failed: set[str] = set()
        """The servers that could not be read before."""
        self.on_change: Callable[[], None] = _nothing
        self.sole = self.servers[0] if len(self.servers) == 1 and not prefixed and not any(toolbox.groups) else None
        for server in self.servers:
            if server.pinned is not None:
                self._take(server, server.pinned)
                server.on_repinned = partial(self._repinned, server)

    async def learn(self, caller: RpcRequest | None, *, patient: bool = False, to_the_end: bool = False) -> None:
        """Read what is not known yet, once for all who wait for it.

        One of several servers that cannot be asked is told in the log, and asked again next time; only who is
        `patient` waits for it then. One that is slow is waited for once and for a short time, unless `to_the_end`:
        its tools join when it has listed them.
        """
        unknown = [server for server in self.servers if server.name not in self._snapshots]
        readings = [self.readings.of(server, caller) for server in unknown]
        awaited = [one for one in readings if patient or one.server.name not in self._failed]
        await (self.readings.wait_to_the_end(awaited) if to_the_end else self._wait(awaited))

    async def learn_for(self, tool: str, caller: RpcRequest | None) -> None:
        """Read the server that a tool is of, if it is not known yet, however long it takes; wait for no other."""
        if self._toolbox.find(tool) is not None:
            return
        owner = (self._owner(tool) or self._owner_of_slug(tool)) if self._prefixed else None
        if self._prefixed and owner is None:
            await self.learn(caller)
            return
        servers = self.servers if owner is None else [owner]
        unknown = [server for server in servers if server.name not in self._snapshots]
        await self.readings.wait_to_the_end([self.readings.of(server, caller) for server in unknown])

    async def _wait(self, readings: Sequence[Reading]) -> None:
        """Wait until servers were read, for one of several no longer than it may hold up the others."""
        await (self.readings.wait(readings) if self.sole is None else self.readings.wait_to_the_end(readings))

    async def _read(self, server: WrappedServer, caller: RpcRequest | None) -> None:
        try:
            snapshot = await server.snapshot(caller)
            self._take(server, snapshot, await _weighed(snapshot))
            self._failed.discard(server.name)
        except Fault as fault:
            if self.sole is not None:
                raise
            if not server.own_session(caller):
                self._failed.add(server.name)
            self._log("server.not_listed", server=server.name, why=fault.message)

    async def learn_again(self, server: WrappedServer, dialogue: ClientSession) -> bool:
        """Read the lists of a running instance again; return whether what is listed has changed."""
        before = self._snapshots.get(server.name)
        try:
            if server.pinned is not None:
                await server.heed_changes(dialogue)
                return self._snapshots[server.name] != before
            now = await server.snapshot_of(dialogue)
        except Fault as fault:
            self._log("server.not_listed", server=server.name, why=fault.message)
            return False
        # Another reader may have seen the change first: those who listen are told all the same.
        self._take(server, now, await _weighed(now))
        return True

    def _take(self, server: WrappedServer, snapshot: Snapshot, weighed: list[Flaws] | None = None) -> None:
        """Serve what a server lists from now on, but for tools whose schemas are over their budget."""
        if server.name in self._listed and self._snapshots[server.name] == snapshot:
            return
        self._snapshots[server.name] = snapshot
        self.is_known = len(self._snapshots) == len(self.servers)
        self._uris.learn(server.name, snapshot)
        prefix = f"{server.name}_" if self._prefixed else ""
        terms = Terms(server.name, prefix, server.modes, server.runner, self._log, server.learned, server.wider)
        listed_now = list_tools(snapshot.tools, terms, weighed)
        self._listed[server.name] = [one for one in listed_now if self._is_own(server, one)]
        try:
            self._fill()
        except ValueError as error:
            self._log("server.tools_clash", server=server.name, why=str(error))
            del self._listed[server.name]
            self._fill()
        listed = [one for name in self.listed for one in self._listed[name]]
        self._tell_unknown(server)
        self._registry.put(
            {one.tool.slug: one.bundle for one in listed}, {one.tool.slug: one.compile for one in listed}
        )
        self.on_change()

    def _tell_unknown(self, server: WrappedServer) -> None:
        """Log the names in settings that no tool of a server has, each once."""
        listed = self._listed.get(server.name)
        if listed is None:
            return
        modes = dict.fromkeys(name for name in server.modes if name)
        of_limits = [name for name in self._limited if self._is_of(server, name)]
        own = [one.own_name for one in listed]
        limitable = [name for one in listed for name in (one.tool.slug, one.tool.name)]
        for key, names, known in (("validation", modes, own), ("limits.tools", of_limits, limitable)):
            for name in names:
                if name not in known and f"{server.name} {key} {name}" not in self._told:
                    self._told.add(f"{server.name} {key} {name}")
                    why = f"the server has no such tool; {nearest_of(name, known)}"
                    self._log("server.unknown_tool", server=server.name, key=key, tool=name[:100], why=why)

    def _is_of(self, server: WrappedServer, name: str) -> bool:
        """Return whether a name in settings means a tool of a server."""
        if name.startswith(f"{server.name}.") or self.sole is not None:
            return True
        return self._prefixed and self._owner(name) is server

    def _is_own(self, server: WrappedServer, listed: Listed) -> bool:
        """Return whether a name is a server's own, and not in the room of another whose name goes on where its ends."""
        if not self._prefixed or self._owner(listed.tool.name) is server:
            return True
        self._log("server.tool_left_out", tool=listed.tool.name[:100], why="its name is in the room of another server")
        return False

    def _owner(self, name: str) -> WrappedServer | None:
        """Return the server whose name a prefixed name begins with; of several, the longest."""
        found = [server for server in self.servers if name.startswith(f"{server.name}_")]
        return max(found, key=lambda server: len(server.name), default=None)

    def _owner_of_slug(self, slug: str) -> WrappedServer | None:
        """Return the server whose name a slug begins with; None where several names are written alike."""
        room = slug.removeprefix(PREFIX).partition(".")[0]
        found = [server for server in self.servers if slug_for(server.name, set()) == room]
        return found[0] if len(found) == 1 else None

    def _fill(self) -> None:
        """Put the tools of all servers into the toolbox, behind one's own; raise ValueError where two clash."""
        groups: list[tuple[Tool, ...]] = [tuple(one.tool for one in self._listed[name]) for name in self.listed]
        self._toolbox.replace(*self._own.groups, *groups)

    def _repinned(self, server: WrappedServer) -> None:
        if server.pinned is not None:
            self._listed.pop(server.name, None)  # what lies behind an equal list may be another
            self._take(server, server.pinned)

    @property
    def listed(self) -> list[str]:
        """The names of the servers whose tools are served, in the order of their groups in the toolbox."""
        return [server.name for server in self.servers if server.name in self._listed]

    def entries(self) -> list[Raw]:
        """Return what clients are told of the tools of all servers."""
        return [one.entry for name in self.listed for one in self._listed[name]]

    def snapshot_of(self, name: str) -> Snapshot | None:
        """Return what a server said about itself, if it was asked."""
        return self._snapshots.get(name)

    async def list_tools(self, request: RpcRequest) -> bytes:
        """Return the result of `tools/list`; a list that nothing pins is read anew each time."""
        unpinned = [one for one in self.servers if one.pinned is None]
        await self._wait([self.readings.of(one, request, again=one.name in self._snapshots) for one in unpinned])
        entries = [one for name in self.listed for one in self._entries(name, request)]
        own = msgspec.json.decode(listing(self._own, self._registry), type=list[Raw]) if any(self._own.groups) else []
        return self._result(request, "tools", [*own, *entries])

    def _entries(self, name: str, request: RpcRequest) -> list[Raw]:
        entries = [one.entry for one in self._listed[name]]
        is_foreign = self._snapshots[name].era == "modern" and not request.era.modern
        return [listed_for_handshake(one) for one in entries] if is_foreign else entries

    async def list_others(self, request: RpcRequest) -> Answer:
        """Return the answer to one of the other lists: the server's own page where there is one server alone."""
        if self.sole is not None and self.sole.pinned is None:
            answer, dialogue = await self.sole.list_page(request)
            if dialogue.modern == request.era.modern or answer.result is None:
                return answer
            if request.era.modern:
                return Answer(Raw(for_modern(request.method, answer.result, dialogue.hello.get("serverInfo"))))
            return Answer(Raw(for_handshake(request.method, answer.result)))
        await self.learn(request, patient=True)
        entries = [one for server in self.servers for one in self._others(server, request.method)]
        return Answer(Raw(self._result(request, KINDS[LISTS[request.method]].member, entries)))

    def _others(self, server: WrappedServer, method: str) -> list[Raw]:
        """Return what a server whose tools are served lists of another kind; of its prompts, those in its own room."""
        if server.name not in self._listed:
            return []
        entries: tuple[Raw, ...] = getattr(self._snapshots[server.name], KINDS[LISTS[method]].where)
        if method != "prompts/list" or not self._prefixed:
            return self._uris.own(server.name, method, entries)
        named = [with_prefix(one, f"{server.name}_") for one in entries]
        return [one for one in named if self._owner(name_of(members(one))) is server]

    def _result(self, request: RpcRequest, member: str, entries: list[Raw]) -> bytes:
        body = encode({member: entries})
        if not request.era.modern:
            return body
        hints = b',"ttlMs":0,"cacheScope":"private"'
        return body[:-1] + hints + self._tail(request) + b"}"

    def _tail(self, request: RpcRequest) -> bytes:
        """Return the end of a result of the modern era: the server behind it names itself."""
        if self.sole is None or self.sole.name not in self._snapshots:
            return request.era.tail
        meta = {"io.modelcontextprotocol/serverInfo": self._snapshots[self.sole.name].server_info}
        return b',"resultType":"complete","_meta":' + encode(meta)

    async def hello(self, request: RpcRequest) -> bytes:
        """Return the result of `initialize` or `server/discover`."""
        if self.sole is None:
            return await self._common_hello(request)
        if self.sole.pinned is not None:
            return hello_of(request, self.sole.pinned)
        dialogue = await self.sole.dialogue(request)
        if dialogue.modern == request.era.modern:
            return hello_as_said(request, dialogue.hello)
        return hello_of(request, self.sole.introduced(dialogue))

    async def _common_hello(self, request: RpcRequest) -> bytes:
        await self.learn(request)
        known = [self._snapshots[name] for name in self.listed]
        together: dict[str, Any] = {"tools": {"listChanged": True}}
        for snapshot in known:
            for key, value in members(capabilities_for(snapshot.capabilities, same_era=False)).items():
                together.setdefault(key, value)
        texts = [f"{name}: {one.instructions}" for name, one in self._snapshots.items() if one.instructions]
        text = "\n".join((*texts, self._instructions) if self._instructions else texts)
        info = Raw(encode(self._identity))
        era = "modern" if request.era.modern else "handshake"
        return hello_of(
            request,
            Snapshot(era=era, version="", server_info=info, capabilities=Raw(encode(together)), instructions=text),
        )

    async def capabilities_of(self, server: WrappedServer, caller: RpcRequest) -> Raw:
        """Return what a server can do; one of several that is not known yet can change its tools."""
        if server.pinned is not None:
            return server.pinned.capabilities
        if self.sole is not None:
            return (await server.dialogue(caller)).hello.get("capabilities", Raw(b"{}"))
        await self.learn(caller)
        known = self._snapshots.get(server.name)
        return known.capabilities if known is not None else Raw(b'{"tools":{"listChanged":true}}')

    async def route(self, request: RpcRequest) -> tuple[WrappedServer, dict[str, Any] | None]:
        """Return the server that a request is for, and the members of its params that the server knows otherwise.

        Raises:
            ProtocolError: no server has what it names.
        """
        if self.sole is not None:
            return self.sole, None
        parts = members(request.raw)
        reference = members(parts.get("ref"))
        if request.method == "completion/complete":
            name, uri = text_of(reference.get("name")), text_of(reference.get("uri"))
            names_resource = text_of(reference.get("type")) == "ref/resource"
        else:
            name, uri = text_of(parts.get("name")), text_of(parts.get("uri"))
            names_resource = request.method.startswith("resources/")
        if name and not names_resource:
            server = self._owner(name)
            if server is not None:
                own = name.removeprefix(f"{server.name}_")
                is_completion = request.method == "completion/complete"
                known = {key: value for key, value in reference.items() if key in REFERENCE}
                return server, {"ref": {**known, "name": own}} if is_completion else {"name": own}
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: no server has {name[:200]!r}")
        await self.learn(request)
        return self._server_of(uri), None

    async def check_prompt(self, server: WrappedServer, request: RpcRequest, more: Mapping[str, Any] | None) -> None:
        """Raise Fault if an argument may be taken for another one that the prompt declares."""
        given = prompt_arguments(request.method, request.raw)
        if not given:
            return
        if server.name not in self._snapshots:
            with suppress(Fault):  # what cannot be listed declares nothing
                await self.readings.wait_to_the_end([self.readings.of(server, request)])
        parts: dict[str, Any] = members(request.raw)
        reference: Any = (more or {}).get("ref") or members(parts.get("ref"))
        named = reference.get("name") if request.method == "completion/complete" else None
        named = named or (more or {}).get("name") or parts.get("name")
        name = text_of(named) if isinstance(named, Raw) else str(named)
        known = self._snapshots.get(server.name)
        listed, entries = self._prompts.get(server.name, ((), {}))
        if known is not None and listed is not known.prompts:
            entries = {name_of(members(one)): one for one in known.prompts}
            self._prompts[server.name] = known.prompts, entries
        check_prompt(entries.get(name), given)

    def _server_of(self, uri: str) -> WrappedServer:
        """Return the server that answers for a resource: the first by name of those that claim it."""
        name = self._uris.owner(uri)
        for server in self.servers:
            if server.name == name:
                return server
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: no server lists the resource {uri[:200]!r}")


async def _weighed(snapshot: Snapshot) -> list[Flaws] | None:
    """Return what is over its budget in a list that takes long to be looked at; None for any other."""
    if sum(len(bytes(entry)) for entry in snapshot.tools) <= LONG_LIST_BYTES:
        return None
    return await asyncio.to_thread(over_budget, snapshot.tools)
