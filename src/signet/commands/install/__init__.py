"""Signet in the configuration of AI clients: one entry put into a file or taken out, the rest left as it is.

    command                          words of the command line → an entry, a message and the exit status
      ├─▶ clients                    which file and which keys each client reads, and the form of its entries
      ├─▶ config_file                the file as text: bounded reading, backup, atomic replacement
      └─▶ json_edit  toml_edit  yaml_edit
                                     text → text: `find_entry`, `put_entry`, `drop_entry`

The editors are pure. Each reads its result again and returns it only if it says what was meant.
"""
