"""A job that does not end, for worker processes: they import this and no more."""

from __future__ import annotations

import time

from dcnlab.evaluator.compare import Request, Row


def dawdle(request: Request) -> Row:
    """A row for the first seed; for others nothing in ten minutes."""
    if request.seed > 1:
        time.sleep(600)
    return {"key": request.key, "seed": request.seed}
