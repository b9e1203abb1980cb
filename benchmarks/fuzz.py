"""Many bad files for every reader: none may end unexpectedly, hang, or show a private value.

Run `python benchmarks/fuzz.py --files 20000`, by hand, with the project's test environment. A line
for each reader: how many bad files were tried, with which exit codes the commands ended, and how
many ended unexpectedly (exit code 1), took more than 5 seconds, or showed a canary. Every such case
is printed with its number, and fails the run; `--case NUMBER --only READER` runs one again.
"""

from __future__ import annotations

import argparse
import faulthandler
import re
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.fuzzing import Reader, bad_file, readers, try_case, workshop

MEMORY = 6 * 2**30
"""Bytes: what a bad file makes a command take beyond this is an unexpected error."""


def try_reader(reader: Reader, cases: range, *, verbose: bool) -> Counter[str]:
    """Try many bad files of one reader and print what was found."""
    tally: Counter[str] = Counter()
    slowest, begun = 0.0, time.monotonic()
    for case in cases:
        ending, finding = try_case(case, reader)
        tally[f"code {ending.code}"] += 1
        slowest = max(slowest, ending.seconds)
        if finding is not None:
            tally[finding.wrong] += 1
            print(finding, flush=True)
        elif verbose:
            print(ending.shown)
    codes = " ".join(f"{name[5:]}:{n}" for name, n in sorted(tally.items()) if "code" in name)
    wrong = sum(n for name, n in tally.items() if "code" not in name)
    print(
        f"{reader.name:36} {len(cases):6,} files, {wrong:3} wrong, slowest {slowest:4.1f} s, "
        f"{time.monotonic() - begun:5.0f} s in all; codes {codes}",
        flush=True,
    )
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000, help="bad files in all")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", default="", help="a regular expression for readers' names")
    parser.add_argument("--case", type=int, help="run this one case, and show what is said")
    parser.add_argument("--show", action="store_true", help="with --case: show the file too")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    chosen = [reader for reader in readers() if re.search(options.only, reader.name)]
    each = -(-options.files // len(chosen))
    cases = range(options.first, options.first + each)
    if options.case is not None:
        cases = range(options.case, options.case + 1)
    whole: Counter[str] = Counter()
    with workshop():
        for reader in chosen:
            if options.show:
                print(bad_file(options.case, reader, Path(reader.file).read_bytes())[:3000])
            whole += try_reader(reader, cases, verbose=options.case is not None)
    wrong = {name: n for name, n in whole.items() if "code" not in name}
    print(f"{len(chosen) * len(cases):,} bad files; wrong: {wrong or 'none'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
