"""The sequences of the PrivTree paper, and the figures to compare with.

msnbc is the log of page categories that visitors of msnbc.com saw on one day, from the UCI
repository: 989,818 sequences over 17 categories. It is read from the folder that SFUMATO_DATA
names, where it lies under `sequences/`; nothing of it is shipped.

The curves of the paper (Zhang, Xiao, Xie: PrivTree, a differentially private algorithm for
hierarchical decompositions, SIGMOD 2016, and J. Zhang's thesis, NTU 2016) survive as pictures only.
What stands here was measured on the same sequences with an independent prototype of the published
algorithm with the published noise and no threshold, cut to 20 symbols, over six runs. A hundredth
or two more or less counts as agreement.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import sfumato as sf

__all__ = ["EPSILONS", "LONGEST", "REFERENCE", "TOPS", "TRUNCATE", "msnbc", "path"]

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
TOPS = (50, 100, 200)

#: The length to which the paper cuts, the end counted as a symbol.
LONGEST = 20

FILE = "msnbc990928.seq.xz"
#: The lines before the first sequence.
HEAD = 7

#: Method → for each epsilon the precision of the top 50, 100 and 200.
REFERENCE = {
    "PrivTree": (
        (0.88, 0.80, 0.65), (0.88, 0.82, 0.69), (0.90, 0.845, 0.71),
        (0.90, 0.87, 0.745), (0.90, 0.887, 0.77), (0.90, 0.897, 0.79),
    ),
    "EM": (
        (0.56, 0.21, 0.08), (0.78, 0.33, 0.13), (0.88, 0.49, 0.21),
        (0.90, 0.69, 0.30), (0.90, 0.815, 0.44), (0.90, 0.86, 0.59),
    ),
}  # fmt: skip

#: Total variation of lengths and the number of nodes, at each epsilon.
REFERENCE_LENGTHS = {"PrivTree": (0.0675, 0.0499, 0.0417, 0.0342, 0.0253, 0.0213)}
REFERENCE_NODES = (590, 725, 1160, 2140, 3220, 5890)

#: What cutting alone costs: precision of the top strings, and total variation of the lengths.
TRUNCATE = ((0.90, 0.87, 0.745), 0.0285)


def path() -> Path:
    """Return where the file lies, or say that it is not there."""
    folder = os.environ.get("SFUMATO_DATA")
    if folder is None:
        raise SystemExit("set SFUMATO_DATA to the folder of the benchmark data")
    found = Path(folder, "sequences", FILE)
    if not found.is_file():
        raise SystemExit(f"there is no {found}")
    return found


@functools.cache
def msnbc(relation: str = "add_remove") -> sf.Sequences:
    """Return msnbc; categories are the numbers 1 to 17."""
    return sf.read_sequences(path(), range(1, 18), skip_lines=HEAD, relation=relation)
