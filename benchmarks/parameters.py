"""Hostile values for every parameter of every method, and for everything that is declared.

Run `python benchmarks/parameters.py`, by hand, with the project's test environment. A row for each
subject: how many cases were tried, how many were refused when it was built and when it was planned,
how many were accepted and rehearsed, and the seconds of the slowest. Every finding is printed and
fails the run: an error that is no refusal in words, a refusal that names no parameter, nonsense
that is accepted, more than 5 seconds, or more memory than 4 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="sfumato-parameters-")
sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.hostile_parameters import (  # noqa: E402
    Case,
    Finding,
    Subject,
    cases,
    declaration_subjects,
    method_subjects,
    try_case,
)

SECONDS = 5
MEMORY = 4 * 2**30
FINDING, BUILT = "finding", "refused: build"


def work(queue: list[Case], pipe: int) -> None:
    """Try cases one after another and tell how each ended; a case that hangs ends the process."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    subject = queue[0].subject
    # The good example first: compiled code is loaded, and its time is not the first case's.
    for _ in subject.use(subject.build(**subject.given)):
        pass
    for case in queue:
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            ended, words = try_case(case), ""
        except Finding as finding:
            ended, words = FINDING, str(finding)
        signal.setitimer(signal.ITIMER_PROF, 0)
        line = json.dumps([ended, words, time.process_time() - begun])
        os.write(pipe, line.encode() + b"\n")


def try_subject(subject: Subject) -> Counter[str]:
    """Try every case of a subject, print a row and the findings, and count how they ended."""
    queue, tally, slowest = cases([subject]), Counter[str](), 0.0
    whole = len(queue)
    while queue:
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(out)
            try:
                work(queue, into)
            finally:
                os._exit(0)
        os.close(into)
        with os.fdopen(out) as lines:
            for line in lines:
                ended, words, seconds = json.loads(line)
                case = queue.pop(0)
                tally[ended] += 1
                slowest = max(slowest, seconds)
                if ended == FINDING:
                    print(f"  {case.name}: {words!a}", flush=True)
        _, status = os.waitpid(child, 0)
        if queue:
            case = queue.pop(0)
            print(f"  {case.name}: ended the process, status {status}", flush=True)
            tally[FINDING] += 1
    planned = sum(n for name, n in tally.items() if name.startswith("refused")) - tally[BUILT]
    print(
        f"| {subject.name} | {whole:,} | {tally[BUILT]:,} | {planned:,} | {tally['accepted']:,} "
        f"| {tally[FINDING]} | {slowest:.1f} |",
        flush=True,
    )
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression for subjects' names")
    options = parser.parse_args()
    subjects = [*method_subjects(), *declaration_subjects()]
    print("| subject | cases | refused when built | when planned | accepted | findings | slowest |")
    print("|---|---|---|---|---|---|---|")
    whole: Counter[str] = Counter()
    for subject in subjects:
        if re.search(options.only, subject.name):
            whole += try_subject(subject)
    print(f"{whole.total():,} cases: {dict(whole)}")
    sys.exit(1 if whole[FINDING] else 0)


if __name__ == "__main__":
    main()
