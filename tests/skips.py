"""Which tests may be skipped: everything else that is skipped fails the run.

A test that is skipped for want of a package is a promise that nobody keeps. So `conftest.py` turns
every skip into a failure whose reason is not listed here.
"""

from __future__ import annotations

import re
from typing import Any

#: The reasons for which a test may be skipped, and why that is right.
ALLOWED = {
    r"SFUMATO_DATA": "data sets that are not part of the project",
    r"nothing is read-only to root": "who runs the tests as root may write everywhere",
    r"needs fork": "a system without processes that fork",
    r"(names|modes) are .*POSIX": "what only POSIX has",
    r"Node is needed for the JavaScript client": "Node comes from no Python package",
    r"the variant is audited by samples elsewhere": "variants of one method share their samples",
    r"what has a δ loses its price; the law is enumerated below": "a stronger test of the same",
    r"far from the worst case": "a stronger test of the same",
    r"that draws follow the enumerated law is tested in": "a stronger test of the same",
}


def is_allowed(reason: str) -> bool:
    """Return whether a test may be skipped for a reason."""
    return any(re.search(pattern, reason) for pattern in ALLOWED)


def refuse_skip(report: Any) -> Any:
    """Return the report of a test or a module, failed if it was skipped without a stated reason."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not is_allowed(reason):
        report.outcome = "failed"
        report.longrepr = (
            f"{report.nodeid} was skipped: {reason}\n"
            "A skip needs a reason that tests/skips.py states. Install what is missing "
            "(pip install -e '.[dev]'), or add it to the dev extra of pyproject.toml."
        )
    return report
