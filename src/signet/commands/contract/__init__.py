"""Contract sets compared: what a change of contracts breaks, shown by a value that it breaks.

    sets ◀── servers ◀── pipe       a folder, a wheel or a running server → the terms of each tool
      ▼
    diff ──▶ verdict                each tool, each side: compatible or breaking
      │         │  openness         how an object is read that says nothing of other properties
      │         ▼
      │      witness ◀── values     a value that one contract admits and the other refuses
      ▼
    command                         a table or JSON, and the exit status

`values` makes them of a schema's `cases`, `scalars` and `patterns`. Only `sets`, `servers` and `pipe` do I/O.
"""
