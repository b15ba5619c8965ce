"""Contract sets: compared by `diff`, written down by `snapshot`, kept by `freeze`, inferred by `learn`.

    command            OLD NEW → findings → a report, and the exit status
      ├─▶ sets         a folder, a wheel, a snapshot, a lock or a running server → the schemas of each tool
      └─▶ report       findings → text, JSON, SARIF, JUnit or Markdown
    snapshot           a server of any make → a file with everything that it says
    freeze             a target → its contracts as files, unless they break callers
    learn              a recording → output schemas that its results keep

`signet.compatibility` decides; only these modules do I/O.
"""
