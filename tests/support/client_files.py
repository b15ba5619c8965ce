"""Configuration files as clients have them, with comments and foreign servers, and what an installation makes of them.

`@SIGNET@` stands for the absolute path of the command.
"""

from __future__ import annotations

USER_FILES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "zed": ".config/zed/settings.json",
    "goose": ".config/goose/config.yaml",
    "opencode": ".config/opencode/opencode.json",
}
"""The user's file of each client on Linux, below the home folder."""

PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "zed": ".zed/settings.json",
    "opencode": "opencode.json",
}

EDITS: dict[str, tuple[str, str]] = {
    "claude-desktop": (
        ('{\n  "globalShortcut": "",\n  "mcpServers": {\n    "files": {\n      "command": "npx",\n'
        '      "args": ["-y", "files"]\n    }@HERE@\n  }\n}\n'),
        ',\n    "signet": {\n      "command": "@SIGNET@",\n      "args": ["stdio"]\n    }',
    ),
    "claude-code": (
        '{"numStartups": 3, "projects": {"/a": {"mcpServers": {"signet": {}}}}, "n": 1.50@HERE@}',
        ', "mcpServers": {"signet": {"type": "stdio", "command": "@SIGNET@", "args": ["stdio"]}}',
    ),
    "cursor": (
        ('{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"größe": { "url": "https://x.example/mcp" }, // remote\r\n'
        '\t\t/* last */@HERE@\r\n\t},\r\n}\r\n'),
        '\r\n\t\t"signet": {\r\n\t\t\t"command": "@SIGNET@",\r\n\t\t\t"args": ["stdio"]\r\n\t\t},',
    ),
    "vscode": (
        '\ufeff{\n    "inputs": [{ "type": "promptString", "id": "key" }],\n    "servers": {@HERE@}\n}',
        ('\n        "signet": {\n            "type": "stdio",\n            "command": "@SIGNET@",\n'
        '            "args": ["stdio"]\n        }\n    '),
    ),
    "codex": (
        ('# Codex\nmodel = "o9"\n\n[mcp_servers.docs] # theirs\ncommand = "docs"\n\n[projects."/a b"]\n'
        'trust_level = "trusted"\n# end\n@HERE@'),
        '\n[mcp_servers.signet]\ncommand = "@SIGNET@"\nargs = ["stdio"]\n',
    ),
    "gemini": (
        '{\n  "theme": "dark" // the theme\n  // no servers yet\n}\n',
        "",
    ),
    "windsurf": ("{}", ""),
    "zed": (
        ('// Zed settings\n//\n// see https://zed.dev/docs\n{\n  "vim_mode": false,\n  "context_servers": {\n'
        '    // a server of mine\n    "other": {\n      "command": "other",\n    },@HERE@\n  },\n}\n'),
        '\n    "signet": {\n      "command": "@SIGNET@",\n      "args": ["stdio"]\n    },',
    ),
    "goose": (
        ("GOOSE_PROVIDER: openai  # note\nextensions:\n@HERE@  # built in\n  developer:\n    bundled: true\n"
        "    args:\n    - a\n    timeout: 300\nGOOSE_MODEL: gpt\n"),
        ('  signet:\n    name: signet\n    type: stdio\n    cmd: "@SIGNET@"\n    args:\n      - stdio\n'
        "    enabled: true\n    timeout: 300\n"),
    ),
    "opencode": (
        ('{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    "servers": {\n'
        '      "far": {"type": "remote", "url": "https://x.example"}@HERE@\n    }\n  }\n}\n'),
        ',\n      "signet": {\n        "type": "local",\n        "command": ["@SIGNET@", "stdio"]\n      }',
    ),
}  # fmt: skip
"""The file of each client, with the place where the entry goes, and what goes there."""

WHOLE = {
    "gemini": (
        '{\n  "theme": "dark", // the theme\n  // no servers yet\n  "mcpServers": {\n    "signet": {\n'
        '      "command": "@SIGNET@",\n      "args": ["stdio"]\n    }\n  }\n}\n'
    ),
    "windsurf": (
        '{\n  "mcpServers": {\n    "signet": {\n      "command": "@SIGNET@",\n      "args": ["stdio"]\n    }\n  }\n}'
    ),
}
"""Files that change in two places, or in their layout."""


def before(client: str) -> bytes:
    """Return a client's file without the entry."""
    return EDITS[client][0].replace("@HERE@", "").encode()


def after(client: str, signet: str) -> bytes:
    """Return a client's file with the entry."""
    text, entry = EDITS[client]
    return WHOLE.get(client, text.replace("@HERE@", entry)).replace("@SIGNET@", signet).encode()
