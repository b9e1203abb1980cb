"""Print which share of each folder's statements and branches the tests execute.

`make coverage` runs it on the report of coverage.py. Compiled functions and imports that only the
type checker reads are not measured (`tool.coverage` in pyproject.toml); the last column counts
their lines.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FIGURES = (
    "num_statements", "covered_lines", "num_branches", "covered_branches", "excluded_lines",
)  # fmt: skip
HEADINGS = ("folder", "statements", "executed", "branches", "executed", "lines not measured")


def sum_by_folder(files: dict[str, Any]) -> dict[str, Counter[str]]:
    """Return the sums of coverage.py's figures over the files of each folder of `src/sfumato`."""
    sums: dict[str, Counter[str]] = {}
    for name, figures in files.items():
        inside = Path(name).parts[Path(name).parts.index("sfumato") + 1 :]
        folder = inside[0] if len(inside) > 1 else "(top)"
        summary = {figure: figures["summary"][figure] for figure in FIGURES}
        sums.setdefault(folder, Counter()).update(summary)
    return dict(sorted(sums.items()))


def format_table(sums: dict[str, Counter[str]]) -> str:
    """Return a Markdown table with one line for each folder and one for the total."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" + "|---:" * (len(HEADINGS) - 1) + "|"]
    for folder, found in [*sums.items(), ("total", sum(sums.values(), Counter()))]:
        cells = (
            folder,
            f"{found['num_statements']:,}",
            _percent(found["covered_lines"], found["num_statements"]),
            f"{found['num_branches']:,}",
            _percent(found["covered_branches"], found["num_branches"]),
            f"{found['excluded_lines']:,}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    # Rounded down: 100 % means all of them.
    return f"{part * 1000 // whole / 10:.1f} %" if whole else "–"


if __name__ == "__main__":
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(format_table(sum_by_folder(report["files"])))
