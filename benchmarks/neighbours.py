"""Does one record change how the others are read? Many neighbouring inputs for every reader.

Run `python benchmarks/neighbours.py --pairs 10000`, by hand, with the project's test environment. A
line for each reader and kind of input: how many pairs of inputs were compared record by record, how
often one of the two was refused, how often the input's own library could not make it, and the
differences. Any difference is printed in full and fails the run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import numpy as np

# Columns are tiny here: threads of Polars would only wait for one another.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.data.neighbours import readers, try_pairs


def try_reader(task: tuple[str, int]) -> tuple[str, Counter[str], list[str]]:
    """Try many pairs for one reader."""
    name, pairs = task
    reader = next(one for one in readers() if one.name == name)
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        tally, found = try_pairs(reader, generator, Path(folder), pairs)
    return name, tally, [repr(difference) for difference in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="pairs for each reader")
    parser.add_argument("--only", default="", help="a part of the readers' names")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = [reader.name for reader in readers() if options.only in reader.name]
    print(f"{'reader and input':32} {'compared':>9} {'refused':>9} {'no input':>9} {'differ':>7}")
    whole: Counter[str] = Counter()
    failed = 0
    os.environ["RUST_BACKTRACE"] = "0"
    with get_context("spawn").Pool(options.processes) as pool:
        tasks = [(name, options.pairs) for name in names]
        for name, tally, found in pool.imap(try_reader, tasks):
            counts = [tally[key] for key in ("compared", "refused", "no input")]
            print(
                f"{name:32} {counts[0]:9,} {counts[1]:9,} {counts[2]:9,} {len(found):7,}",
                flush=True,
            )
            for difference in found[:5]:
                print("   ", difference)
            whole += tally
            failed += len(found)
    print(f"in all {sum(whole.values()):,} pairs, {whole['compared']:,} compared, {failed} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
