"""Whether a run is live, recorded or replayed: how a toolset gets its way out, and what else is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from signet import __version__
from signet.kernel.port import Upstream

from .catalogue import enabled
from .logs import WARN, Log
from .settings import Settings, UsageError

if TYPE_CHECKING:
    from .journal.record import Entry, Record
    from .upstream.folder import Label, WrittenFolder
    from .upstream.redact import Redactor

__all__ = ["REMEMBERED", "Live", "Recording", "Replay", "open_run"]

QUESTIONS: Final = ("boj_retry_max",)
"""The settings that decide which questions reach an upstream; a replay has them from its cassette."""
REMEMBERED: Final = (*QUESTIONS, "validation")
"""The settings that a cassette keeps."""


class Live:
    """A run that is neither recorded nor replayed."""

    tape: Callable[[list[tuple[Entry, Record]]], None] | None = None
    """Takes the calls of each batch of the journal, where they are kept."""
    complain: Callable[[str], None] | None = None
    """Says once that the folder of the recording cannot be written to, where there is one."""

    def settings(self, given: Settings) -> Settings:
        """Give the settings that the run is to have."""
        return given

    def way_out(self, toolset: str, make: Callable[[], Upstream]) -> Upstream:  # noqa: ARG002 - others need it
        """Give a toolset its way out."""
        return make()

    def calendar(self, toolset: str, today: Callable[[], str]) -> Callable[[], str]:  # noqa: ARG002 - others need it
        """Give a toolset what it learns the day from."""
        return today


class Recording(Live):
    """A run that is recorded."""

    def __init__(self, folder: WrittenFolder, redact: Redactor) -> None:
        self._folder = folder
        self._redact = redact
        self.tape = self._keep
        self.complain = folder.complain

    def way_out(self, toolset: str, make: Callable[[], Upstream]) -> Upstream:
        """Give a toolset its way out, with a recorder around it."""
        from .upstream.cassette import RecordingUpstream
        from .upstream.folder import Source

        inner = make()
        self._folder.come_from(toolset, Source(inner.origin, inner.has_token))
        return RecordingUpstream(inner, toolset, self._folder, self._redact)

    def calendar(self, toolset: str, today: Callable[[], str]) -> Callable[[], str]:
        """Give a toolset what it learns the day from; the day is kept like an answer."""
        from .upstream.cassette import recorded_calendar

        return recorded_calendar(toolset, today, self._folder)

    def _keep(self, pairs: list[tuple[Entry, Record]]) -> None:
        from .journal.calls import call_lines

        self._folder.keep_calls(call_lines(pairs, self._redact.body))


class Replay(Live):
    """A run that is answered from a cassette, and that nobody outside hears of."""

    def __init__(self, folder: str, label: Label, redact: Redactor) -> None:
        from .upstream.folder import ReadFolder

        self._label = label
        self._folder = ReadFolder(folder)
        self._redact = redact

    def settings(self, given: Settings) -> Settings:
        """Ask as it was asked then, and wait for nobody: there is no one to be polite to."""
        sources = self._label.toolsets
        known = {f"{name}_base_url": source.origin for name, source in sources.items() if source is not None}
        asked = {name: value for name, value in self._label.settings.items() if name in QUESTIONS}
        changed = {
            **known,
            **asked,
            "toolsets": given.toolsets or ",".join(sources),
            "boj_retry_backoff_ms": 0,
            "sandbox": False,
        }
        try:
            return msgspec.convert({**msgspec.structs.asdict(given), **changed}, Settings)
        except msgspec.ValidationError as error:
            message = f"the cassette's label cannot be used ({error})"
            raise UsageError(message) from None

    def way_out(self, toolset: str, make: Callable[[], Upstream]) -> Upstream:  # noqa: ARG002 - nothing is made
        """Give a toolset what was recorded in place of its way out."""
        from .upstream.cassette import ReplayUpstream
        from .upstream.folder import Source

        source = self._label.toolsets.get(toolset) or Source("nowhere")
        return ReplayUpstream(toolset, source, self._folder, self._redact)

    def calendar(self, toolset: str, today: Callable[[], str]) -> Callable[[], str]:  # noqa: ARG002 - it was then
        """Give a toolset the days of the recorded run."""
        from .upstream.cassette import replayed_calendar

        return replayed_calendar(toolset, self._folder)


def open_run(settings: Settings, log: Log) -> Live:
    """Begin a run as the settings say.

    Raises:
        UsageError: there is no cassette to replay.
    """
    if not settings.record and not settings.replay:
        return Live()
    from .upstream.folder import Label, WrittenFolder
    from .upstream.redact import Redactor

    redact = Redactor(settings.secrets())
    if settings.replay:
        return Replay(settings.replay, label_of(settings.replay), redact)
    remembered = {name: getattr(settings, name) for name in REMEMBERED}
    label = Label(__version__, dict.fromkeys(enabled(settings)), remembered)
    folder = settings.record or ""
    return Recording(
        WrittenFolder(folder, label, lambda why: log.line(WARN, "record", "record.unwritable", why=why)), redact
    )


def label_of(folder: str) -> Label:
    """Read the label of the cassette in a folder.

    Raises:
        UsageError: there is none.
    """
    from .upstream.folder import LABEL, read_label

    try:
        return read_label(folder)
    except OSError as error:
        message = f"there is no cassette in {folder} ({LABEL}: {error.strerror}); make one with --record {folder}"
    except ValueError as error:
        message = f"{LABEL} in {folder} cannot be read ({error})"
    raise UsageError(message)
