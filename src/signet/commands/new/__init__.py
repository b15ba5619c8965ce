"""`signet new`: a small project with one tool, its frozen contract, tests and a CI file.

command ── names ── templates ── project ── files, contracts and recordings, moved into place when all are there
"""
