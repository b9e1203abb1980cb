"""Auditors that nobody here wrote, on ten of our methods and four planted mutants.

    python benchmarks/auditors.py --peer PYTHON [--dp-auditorium CHECKOUT] [--outputs 10000]

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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.audit import canonical_pairs, examine
from sfumato.audit.features import Encoder, flatten
from sfumato.audit.neighbours import Pair
from sfumato.audit.replaying import fresh
from sfumato.audit.subjects import subject_of
from sfumato.privacy.record import record

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.audit import mutants  # noqa: E402

TESTERS = Path(__file__).resolve().parent / "peers" / "audit_testers.py"
METHODS = (
    "marginals",
    "histogram",
    "privbayes",
    "uniformgrid",
    "privtree",
    "suffixtree",
    "subgraphcount",
    "degreesequence",
    "functionalregression",
    "randomizedresponse",
)
MMD = "dp_auditorium_mmd"
MUTANTS = (
    "HalfScaleHistogram",
    "ParallelPartsOfOneUnit",
    "OccupiedCellsOnly",
    "binary_sparse_vector",
)
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
    """A mechanism and two neighbouring data sets."""

    mechanism: Callable[[Any], Any]
    pair: Pair


def method_subject(name: str, epsilon: str) -> Subject:
    """Return one of our methods, on the canonical pair with the largest loss in replay."""
    found = subject_of(name, epsilon=epsilon)
    pairs = canonical_pairs(found.public)
    pair = max(pairs, key=lambda pair: examine(found.method, pair).largest)
    return Subject(lambda data: record(fresh(found.method), data).transcript, pair)


def mutant_subject(name: str, epsilon: str) -> Subject:
    """Return a mutant that claims this epsilon and does not keep it."""
    if name == "binary_sparse_vector":
        # Half of the answers rise by one and the others fall: neighbours for queries of
        # sensitivity 1.
        pair = Pair("2,000 queries", [1] * 2000, [0] * 1000 + [2] * 1000)
        return Subject(
            lambda answers: count_both(mutants.binary_sparse_vector(answers, epsilon=epsilon)), pair
        )
    method = getattr(mutants, name)(epsilon=epsilon)
    pair = canonical_pairs(mutants.public())[0]
    return Subject(lambda data: record(fresh(method), data).transcript, pair)


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


def draw_file(place: Path, name: str, claim: str, outputs: int, seed: int) -> str:
    """Write the outputs of a subject to a file for the testers, and return the pair's name."""
    subject = (mutant_subject if name in MUTANTS else method_subject)(name, claim)
    with noise.seeded(seed):
        here, there = draw_rows(subject, outputs)
    np.savez(place / f"{name}.npz", here=here, there=there, epsilon=float(Fraction(claim)))
    print(f"ε = {claim}: drew from {name}", file=sys.stderr, flush=True)
    return subject.pair.name


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
    parser.add_argument("--outputs", type=int, default=10_000, help="on each data set")
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
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
        ):
            drawn = {
                name: pool.submit(draw_file, Path(folder), name, claim, outputs, given.seed)
                for name in (*METHODS, *MUTANTS)
            }
            pairs = {name: future.result() for name, future in drawn.items()}
            for line in judge(Path(folder), given.peer, testers, given.dp_auditorium):
                name, tester = line["subject"], line["tester"]
                tried_by[tester, name in MUTANTS] += 1
                refuted_by[tester, name in MUTANTS] += line["rejected"]
                verdict = "REFUTED" if line["rejected"] else "not refuted"
                print(
                    f"{name:24} {pairs[name]:52} ε = {claim:4} "
                    f"{tester:24} {line['bound']:8.3f}  {verdict}",
                    flush=True,
                )
    for (tester, broken), count in tried_by.items():
        what = "mutants caught" if broken else "methods refuted"
        print(f"{tester}: {refuted_by[tester, broken]} of {count} {what}")


if __name__ == "__main__":
    main()
