"""With this folder in PYTHONPATH, `signet serve` looks at the token of a stream often.

In `SHORT_STREAMS` stands the number of seconds after which streams end.
"""

import os
import sys

if "serve" in sys.orig_argv:
    from signet.console import admission

    admission.HEARTBEAT_S = 0.2
    admission.MAX_AGE_S = float(os.environ.get("SHORT_STREAMS", admission.MAX_AGE_S))
