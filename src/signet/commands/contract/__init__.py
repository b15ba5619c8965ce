"""Contract sets: compared by `diff`, kept beside the code by `freeze`, inferred from recorded results by `learn`.

    command            OLD NEW → findings → a table or JSON, and the exit status
      └─▶ sources      a folder, a wheel or a running server → the schemas of each tool
    freeze             a target → its contracts as files, unless they break callers
    learn              a tape → output schemas that its results keep

`signet.compatibility` decides; only these modules do I/O.
"""
