"""Whether a run is live, recorded or replayed: how a toolset gets its way out, and what else is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from signet import __version__
from signet.catalogue import enabled
from signet.kernel.upstream import Upstream
from signet.logs import WARN, Log
from signet.settings import Settings, UsageError

if TYPE_CHECKING:
    from signet.journal.record import JournalEntry, JournalRecord
    from signet.upstream.cassette_folder import CassetteManifest, CassetteWriter
    from signet.upstream.cassette_redaction import CassetteRedactor

__all__ = ["REMEMBERED", "LiveRun", "RecordingRun", "ReplayRun", "open_run"]

QUESTIONS: Final = ("boj_retry_max",)
"""The settings that decide which questions reach an upstream; a replay has them from its cassette."""
REMEMBERED: Final = (*QUESTIONS, "validation")
"""The settings that a cassette keeps."""


class LiveRun:
    """A run that is neither recorded nor replayed."""

    on_calls: Callable[[list[tuple[JournalEntry, JournalRecord]]], None] | None = None
    """Takes the calls of each batch of the journal, where they are kept."""
    warn_once: Callable[[str], None] | None = None
    """Says once that the folder of the recording cannot be written to, where there is one."""

    def settings(self, given: Settings) -> Settings:
        """Give the settings that the run is to have."""
        return given

    def upstream_for(self, toolset: str, make: Callable[[], Upstream]) -> Upstream:  # noqa: ARG002 - others need it
        """Give a toolset its way out."""
        return make()

    def today_for(self, toolset: str, today: Callable[[], str]) -> Callable[[], str]:  # noqa: ARG002 - others need it
        """Give a toolset what it learns the day from."""
        return today


class RecordingRun(LiveRun):
    """A run that is recorded."""

    def __init__(self, folder: CassetteWriter, redact: CassetteRedactor) -> None:
        self._folder = folder
        self._redact = redact
        self.on_calls = self._keep
        self.warn_once = folder.warn_once

    def upstream_for(self, toolset: str, make: Callable[[], Upstream]) -> Upstream:
        """Give a toolset its way out, with a recorder around it."""
        from signet.upstream.cassette import RecordingUpstream
        from signet.upstream.cassette_folder import RecordedOrigin

        inner = make()
        self._folder.set_origin(toolset, RecordedOrigin(inner.origin, inner.has_token))
        return RecordingUpstream(inner, toolset, self._folder, self._redact)

    def today_for(self, toolset: str, today: Callable[[], str]) -> Callable[[], str]:
        """Give a toolset what it learns the day from; the day is kept like an answer."""
        from signet.upstream.cassette import recorded_today

        return recorded_today(toolset, today, self._folder)

    def _keep(self, pairs: list[tuple[JournalEntry, JournalRecord]]) -> None:
        from signet.journal.calls import call_lines

        self._folder.keep_calls(call_lines(pairs, self._redact.body))


class ReplayRun(LiveRun):
    """A run that is answered from a cassette, and that nobody outside hears of."""

    def __init__(self, folder: str, label: CassetteManifest, redact: CassetteRedactor) -> None:
        from signet.upstream.cassette_folder import CassetteReader

        self._label = label
        self._folder = CassetteReader(folder)
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

    def upstream_for(self, toolset: str, make: Callable[[], Upstream]) -> Upstream:  # noqa: ARG002 - others need it
        """Give a toolset what was recorded in place of its way out."""
        from signet.upstream.cassette import ReplayUpstream
        from signet.upstream.cassette_folder import RecordedOrigin

        source = self._label.toolsets.get(toolset) or RecordedOrigin("nowhere")
        return ReplayUpstream(toolset, source, self._folder, self._redact)

    def today_for(self, toolset: str, today: Callable[[], str]) -> Callable[[], str]:  # noqa: ARG002 - others need it
        """Give a toolset the days of the recorded run."""
        from signet.upstream.cassette import replayed_today

        return replayed_today(toolset, self._folder)


def open_run(settings: Settings, log: Log) -> LiveRun:
    """Begin a run as the settings say.

    Raises:
        UsageError: there is no cassette to replay.
    """
    if not settings.record and not settings.replay:
        return LiveRun()
    from signet.upstream.cassette_folder import CassetteManifest, CassetteWriter
    from signet.upstream.cassette_redaction import CassetteRedactor

    redact = CassetteRedactor(settings.secrets())
    if settings.replay:
        return ReplayRun(settings.replay, read_manifest_of(settings.replay), redact)
    remembered = {name: getattr(settings, name) for name in REMEMBERED}
    label = CassetteManifest(__version__, dict.fromkeys(enabled(settings)), remembered)
    folder = settings.record or ""
    return RecordingRun(
        CassetteWriter(folder, label, lambda why: log.line(WARN, "record", "record.unwritable", why=why)), redact
    )


def read_manifest_of(folder: str) -> CassetteManifest:
    """Read the label of the cassette in a folder.

    Raises:
        UsageError: there is none.
    """
    from signet.upstream.cassette_folder import LABEL, read_manifest

    try:
        return read_manifest(folder)
    except OSError as error:
        message = f"there is no cassette in {folder} ({LABEL}: {error.strerror}); make one with --record {folder}"
    except ValueError as error:
        message = f"{LABEL} in {folder} cannot be read ({error})"
    raise UsageError(message)
