"""`signet journal --sql`: the records as a table of DuckDB."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from signet.commands.terminal import on_terminal, table, write, write_json
from signet.settings.usage import UsageError
from signet.system.advice import advise

__all__ = ["ask"]

PIPE_WIDTH: Final = 200
RAW: Final = {
    "ts": "TIMESTAMP",
    "status": "VARCHAR",
    "transport": "VARCHAR",
    "route": "VARCHAR",
    "durationMs": "DOUBLE",
    "inputBytes": "BIGINT",
    "outputBytes": "BIGINT",
    "requestId": "VARCHAR",
    "traceId": "VARCHAR",
    "spanId": "VARCHAR",
    "stepId": "BIGINT",
    "metadata": "STRUCT(toolId VARCHAR)",
    "error": "STRUCT(code VARCHAR, message VARCHAR)",
}
VIEW: Final = """
CREATE VIEW journal AS SELECT ts, metadata.toolId AS tool, transport, route, status, coalesce(error.code, 'OK') AS code,
error.message AS message, durationMs AS duration_ms, inputBytes AS input_bytes, outputBytes AS output_bytes,
requestId AS request_id, traceId AS trace_id, spanId AS span_id, stepId AS step_id, filename
FROM read_json({files}, format = 'newline_delimited', columns = {columns}, ignore_errors = true, filename = true)
WHERE ts IS NOT NULL AND status IS NOT NULL
"""


def ask(query: str, paths: list[str], *, as_json: bool) -> int:
    """Print the answer to a question; return the exit status.

    Raises:
        UsageError: DuckDB is not installed, or cannot answer.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError(f"--sql needs DuckDB; type: {advise('extra', install='sql')}") from None
    with duckdb.connect(":memory:") as database:
        try:
            database.execute(VIEW.format(files=_list(paths), columns=_struct(RAW)))
            answer = database.sql(query)
            names = _told_apart(list(answer.columns)) if answer is not None else []
            rows = answer.fetchall() if answer is not None else []
        except duckdb.Error as error:
            raise UsageError(f"DuckDB: {error}") from None
    if as_json or not on_terminal():
        for row in rows:
            line = dict(zip(names, row, strict=True))
            write_json(msgspec.json.encode(line, enc_hook=str).decode())
    else:
        write(table(names, [tuple(map(_text, row)) for row in rows], pipe_width=PIPE_WIDTH, strip=True))
    return 0


def _told_apart(names: list[str]) -> list[str]:
    """Return the names of columns, each with a number where another one has the same."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return told


def _list(values: list[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _struct(values: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {_quoted(value)}" for name, value in values.items()) + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
