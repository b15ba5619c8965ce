"""Contract sets: compared by `diff`, and kept beside the code by `freeze`.

    command            OLD NEW → findings → a table or JSON, and the exit status
      └─▶ sources      a folder, a wheel or a running server → the schemas of each tool
    freeze             a target → its contracts as files, unless they break callers

`signet.compatibility` decides; only these modules do I/O.
"""
