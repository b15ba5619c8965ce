"""The commands `signet lock` and `signet preflight`: pin what servers say about themselves, and look before a call.

    command, preflight    the lock, the servers → changes → text or JSON, and the exit status
      ├─▶ sources         `-- CMD`, `--url` or `[servers.*]` → ServerSpec → Snapshot
      └─▶ report          changes → a diff for people

`signet.lock` decides; `signet.relay.server_snapshot` asks.
"""
