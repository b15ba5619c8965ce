"""The gate of a toolset: what is wrong with its tools, before a client meets it.

    command ─▶ contracts, calls, doors, clients ─▶ result ─▶ report     text, JSON, JUnit, SARIF

    client_rules                 a tool → findings: names, descriptions, and what its schemas add
      ├─▶ schema_rules           the shapes of schemas that a client refuses or loses
      ├─▶ secrets                tokens, keys and passwords in a text that every model reads
      └─▶ findings               the rules by name and client, and the findings

The rules, each with its source, are listed in docs/client-rules.md.
"""
