"""OpenAPI documents as toolsets: each operation a tool with contracts, called like all others.

    file, URL ── document ── references ── schema ─┐
                                                   ▼
    selection ── naming ── operation ── body ── plan (kept by digest: cache)
                                                   ▼
    arguments ── request ── the service ── response ── result

Only `document`, `fetching` and `cache` read or write anything; all else is pure.
"""
