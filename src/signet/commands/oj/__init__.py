"""`signet oj`: problems of online judges at the terminal. Read one, test a program on its samples, begin a solution.

problem ──┬── show       the statement, rendered
          ├── judging    verdict: a program on the samples, as a judge would run it
          └── new        a folder with the statement, the samples and a stub
"""
