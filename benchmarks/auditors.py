"""Auditors that nobody here wrote, on twelve of our methods and four planted mutants.

    python benchmarks/auditors.py --peer PYTHON [--dp-auditorium CHECKOUT] [--outputs 64000]

Run by hand. Outputs are drawn here, on made-up neighbouring data, and judged in the environment of
`--peer`, by jax-privacy and privacy-estimates, which are on PyPI, and by the histogram and MMD
testers of DP-Auditorium if a checkout of google/differential-privacy is given: see
benchmarks/peers/audit_testers.py, which says what the environment needs.

An output is the transcript, which determines the release. Its numbers and words become a row of
features (sfumato.audit.features), chosen on the first quarter of the outputs, which
the testers do not see. The pair of a method is the canonical one with the largest loss in replay.

The MMD tester cannot refute ε = 1: it rejects when the squared distance of the mean embeddings, at
most 2, exceeds (e^ε − 1)², which is 2.95. It runs at ε = 1/4, with a quarter of the outputs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.audit import canonical_pairs, examine
from sfumato.audit.features import Encoder, flatten
from sfumato.audit.neighbours import Pair
from sfumato.audit.replaying import fresh
from sfumato.cli.audit_subjects import subject_of
from sfumato.privacy.record import record

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.audit import mutants  # noqa: E402

TESTERS = Path(__file__).resolve().parent / "peers" / "audit_testers.py"
METHODS = (
    "marginals",
    "histogram",
    "priv-bayes",
    "synthesizer",
    "uniform-grid",
    "priv-tree",
    "suffix-tree",
    "ngram",
    "subgraph-count",
    "degree-sequence",
    "functional-regression",
    "randomized-response",
)
MMD = "dp_auditorium_mmd"
#: The testers, and the ε that is claimed before each.
CLAIMS = {
    "1": ("jax_privacy", "privacy_estimates", "dp_auditorium_histogram"),
    "1/4": (MMD,),
}
#: So many outputs are taken apart at a time.
CHUNK = 2000
#: The probability, at most, that a tester refutes any method that keeps its promise.
RISK = 0.001


@dataclass(frozen=True)
class Subject:
    """A mechanism and two neighbouring data sets; `broken` says that it must be caught."""

    name: str
    mechanism: Callable[[Any], Any]
    pair: Pair
    broken: bool = False


def of_method(name: str, method: Any, pairs: list[Pair], *, broken: bool = False) -> Subject:
    """Return a method as a function from data to transcripts."""
    pair = pairs[0] if broken else max(pairs, key=lambda pair: examine(method, pair).largest)
    return Subject(name, lambda data: record(fresh(method), data).transcript, pair, broken)


def subjects(epsilon: str) -> list[Subject]:
    """Return our methods and the mutants, all claiming this epsilon."""
    found = []
    for name in METHODS:
        subject = subject_of(
            name, epsilon=epsilon, delta=None, relation=None, max_rows=None, schema=None
        )
        found.append(of_method(name, subject.method, canonical_pairs(subject.public)))
    pairs = canonical_pairs(mutants.public())
    for mutant in (
        mutants.HalfScaleHistogram,
        mutants.ParallelPartsOfOneUnit,
        mutants.OccupiedCellsOnly,
    ):
        method = mutant(epsilon=epsilon)
        found.append(of_method(mutant.__name__, method, pairs, broken=True))
    # Half of the answers rise by one and the others fall by one: neighbours for queries of
    # sensitivity 1.
    many = Pair("2,000 queries", [1] * 2000, [0] * 1000 + [2] * 1000)
    found.append(
        Subject(
            "BinarySparseVector",
            lambda answers: count_both(mutants.binary_sparse_vector(answers, epsilon=epsilon)),
            many,
            broken=True,
        )
    )
    return found


def count_both(answers: list[bool]) -> list[int]:
    """Return how many of the first and of the second half of the answers are yes."""
    half = len(answers) // 2
    return [sum(answers[:half]), sum(answers[half:])]


def draw_rows(subject: Subject, outputs: int) -> list[NDArray[np.float64]]:
    """Return the outputs on both data sets as rows of numbers."""

    def draw(count: int) -> tuple[list[Any], list[Any]]:
        flats: tuple[list[Any], list[Any]] = ([], [])
        for _ in range(count):
            flats[0].append(flatten(subject.mechanism(subject.pair.here)))
            flats[1].append(flatten(subject.mechanism(subject.pair.there)))
        return flats

    first = draw(outputs // 4)
    encoder = Encoder(*first)
    rows = [[encoder.rows(flats)] for flats in first]
    left = outputs - outputs // 4
    while left:
        for side, flats in enumerate(draw(min(CHUNK, left))):
            rows[side].append(encoder.rows(flats))
        left -= min(CHUNK, left)
    return [np.concatenate(parts).astype(np.float32) for parts in rows]


def judge(folder: Path, peer: str, testers: list[str], checkout: str | None) -> list[Any]:
    """Return what the testers say of all outputs in a folder."""
    command = [peer, str(TESTERS), "--outputs", str(folder), "--risk", str(RISK)]
    command += ["--testers", *testers]
    if checkout is not None:
        command += ["--dp-auditorium", checkout]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True, help="a Python interpreter with the testers")
    parser.add_argument("--dp-auditorium", metavar="CHECKOUT")
    parser.add_argument("--outputs", type=int, default=64_000, help="on each data set")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tried_by: Counter[tuple[str, bool]] = Counter()
    refuted_by: Counter[tuple[str, bool]] = Counter()
    for claim, all_testers in CLAIMS.items():
        testers = [
            name for name in all_testers if given.dp_auditorium or not name.startswith("dp_")
        ]
        if not testers:
            continue
        outputs = given.outputs // 4 if testers == [MMD] else given.outputs
        tried = {f"{number:02}": subject for number, subject in enumerate(subjects(claim))}
        with tempfile.TemporaryDirectory() as folder:
            for key, subject in tried.items():
                with noise.seeded(given.seed):
                    here, there = draw_rows(subject, outputs)
                epsilon = float(Fraction(claim))
                np.savez(Path(folder) / f"{key}.npz", here=here, there=there, epsilon=epsilon)
                print(f"{claim}: drew from {subject.name}", file=sys.stderr, flush=True)
            for line in judge(Path(folder), given.peer, testers, given.dp_auditorium):
                subject = tried[line["subject"]]
                tried_by[line["tester"], subject.broken] += 1
                refuted_by[line["tester"], subject.broken] += line["rejected"]
                verdict = "REFUTED" if line["rejected"] else "not refuted"
                print(
                    f"{subject.name:24} {subject.pair.name:52} ε = {claim:4} "
                    f"{line['tester']:24} {line['bound']:8.3f}  {verdict}",
                    flush=True,
                )
    for (tester, broken), count in tried_by.items():
        what = "mutants caught" if broken else "methods refuted"
        print(f"{tester}: {refuted_by[tester, broken]} of {count} {what}")


if __name__ == "__main__":
    main()
