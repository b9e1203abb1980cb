"""Faults at every step of a booking and a save: the long version of tests/faults.

    python benchmarks/faults.py [rounds]

Every scenario is run with every fault at every point; power cuts are repeated with other parts of
what was not synced. It needs Linux and a C compiler, and neither root nor a network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHIM = ROOT / "tests" / "faults" / "shim.c"
SCENARIOS = ("release", "new-folder", "session", "create")
MODES = ("kill", "tear", "full", "power")


def run(shim: Path, scenario: str, mode: str, seed: int) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.harness", scenario, mode, "1", str(seed)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(shim)},
        check=True,
        capture_output=True,
        text=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / "shim.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, SHIM, "-ldl"], check=True)
        print("| scenario | fault | points | faults | what was left |")
        print("|---|---|---|---|---|")
        for scenario in SCENARIOS:
            for mode in MODES:
                outcomes: Counter[str] = Counter()
                for seed in range(rounds if mode == "power" else 1):
                    found = run(shim, scenario, mode, seed)
                    outcomes.update(found["outcomes"])  # type: ignore[arg-type]
                    wrong += found["wrong"]  # type: ignore[operator]
                left = ", ".join(f"{count} {what}" for what, count in outcomes.most_common())
                print(
                    f"| {scenario} | {mode} | {found['points']} | {outcomes.total():,} | {left} |",
                    flush=True,
                )
    print(f"\nwrong: {len(wrong)}")
    for text in wrong:
        print(text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
