"""Contract sets compared: which changes break clients, each shown by a value that breaks.

    command                          two sources → findings → a table or JSON, and the exit status
      ├─▶ sources                    a folder, a wheel or a running server → the schemas of each tool
      └─▶ compatibility              two schemas → compatible or breaking
            ├─▶ open_objects         how an object is read that has no rule for undeclared properties
            └─▶ counterexample       a value that one schema admits and the other rejects
                  └─▶ values ─▶ scalars    candidates made from the schemas

Only `sources` does I/O.
"""
