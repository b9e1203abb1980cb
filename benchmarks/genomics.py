"""Releases of genotypes: how many planted loci are found, how many people it takes, and speed.

    SFUMATO_DATA=… python benchmarks/genomics.py recovery [--runs 20]
    python benchmarks/genomics.py power --cohort SIMULATED.npy [--runs 10]
    python benchmarks/genomics.py statistics
    python benchmarks/genomics.py scale [--sites 1000000] [--people 5000]

Run by hand. The sections:

recovery     five associated sites are planted into the cohort of 28,501 sites and 1,000 people, and
             five sites are chosen: the share of planted ones among them, by score and ε, and the ε
             at which half of them are found
power        cohorts of 1,000 to 10,000 people of a simulated chromosome, whose status follows from
             five loci (benchmarks/peers/genomics_msprime.py): the share of loci near one of ten
             chosen sites, beside a test without privacy
statistics   the error of χ² from noisy counts and from noise on χ² itself
scale        a .bed file of a million sites and 5,000 people: seconds of CPU and peak memory

The cohorts are simulated or public; the figures are computed from exact calls and are not private.
"""

from __future__ import annotations

import argparse
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato import noise
from sfumato.genomics.queries import AssociationDistances, FrequencyDifferences, SiteStatistics
from sfumato.genomics.statistics import allelic_sensitivity, threshold_of
from sfumato.genomics.top_snps import EXPONENT, weights_of
from sfumato.mechanisms.choose import Choose

#: A locus is found if a chosen site is so near, in bases, and chosen sites are so far apart.
NEAR, APART = 50_000, 250_000
PLANTED = 5
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
#: The threshold of significance of the distance, and others that are compared with it.
THRESHOLD, THRESHOLDS = 1e-3, (1e-6, 1e-4, 1e-2)
PUBLIC_GROUPS = {"relation": "replace_one", "groups": "public"}


def cohort() -> np.ndarray:
    """Return the calls of the cohort, of shape (sites, people)."""
    folder = Path(os.environ["SFUMATO_DATA"]) / "genomics"
    with lzma.open(folder / "snpstats_chr10_geno.npy.xz") as file:
        calls: np.ndarray = np.load(file)
    return calls


def plant_sites(
    calls: np.ndarray, odds_ratio: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cohort with random cases, and calls at a few sites that follow the cases.

    Sites keep their linkage; cases are random, so that no other site is associated. At planted
    sites controls have the effect allele with frequencies from 0.1 to 0.5.
    """
    people = calls.shape[1]
    case = random.permutation(np.arange(people) < people // 2)
    loci = random.choice(len(calls), PLANTED, replace=False)
    plain = np.linspace(0.1, 0.5, PLANTED)[:, None]
    odds = odds_ratio * plain / (1 - plain)
    planted = calls.copy()
    planted[loci] = random.binomial(2, np.where(case, odds / (1 + odds), plain))
    return planted, case, loci


def draw_cases(
    calls: np.ndarray, people: int, odds_ratio: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return calls of people, half of them cases, whose status follows from a few loci.

    Cases and controls are drawn from all people by a logistic model in which each copy multiplies
    the odds.
    """
    share = calls.mean(axis=1) / 2
    common = np.flatnonzero((share > 0.2) & (share < 0.8))
    # Loci that lie apart, so that each has neighbours of its own.
    loci = np.array([random.choice(stretch) for stretch in np.array_split(common, PLANTED)])
    score = np.log(odds_ratio) * (calls[loci] - 2 * share[loci, None]).sum(axis=0)
    case = random.random(calls.shape[1]) < 1 / (1 + np.exp(-score))
    many = people // 2
    drawn = [random.choice(np.flatnonzero(group), many, replace=False) for group in (case, ~case)]
    return calls[:, np.concatenate(drawn)], np.arange(people) < many, loci


def study(calls: np.ndarray, case: np.ndarray) -> sf.Genotypes:
    """Return a private study with public numbers of cases and controls."""
    return sf.Genotypes(calls.T, case, **PUBLIC_GROUPS)


def peel(
    scores: np.ndarray,
    sensitivity: Fraction,
    epsilon: float,
    count: int = PLANTED,
    positions: np.ndarray | None = None,
) -> list[int]:
    """Choose sites one after another by permute-and-flip, as `TopSNPs` does."""
    left = np.arange(len(scores))
    chosen = []
    for _ in range(count):
        law = Choose(
            candidates=len(left),
            sensitivity=sensitivity,
            epsilon=Fraction(epsilon).limit_denominator(10**6) / count,
        )
        place = int(left[law.sample(scores[left])])
        chosen.append(place)
        if positions is None:
            left = left[left != place]
        else:
            left = left[np.abs(positions[left] - positions[place]) >= APART]
    return chosen


def laws(data: sf.Genotypes) -> dict[str, Callable[[float, np.random.Generator], list[int]]]:
    """Return how sites are chosen, each given ε for the choice; exact scores are computed once."""
    sizes = data.public.sizes
    distances = AssociationDistances(sizes, threshold_of(THRESHOLD)).answer(data)
    statistics = SiteStatistics("allelic", EXPONENT).answer(data)
    weights = weights_of(sizes)
    differences = FrequencyDifferences(weights).answer(data)
    change = allelic_sensitivity(sizes)
    plain = statistics * 2.0**EXPONENT

    def laplace(epsilon: float, random: np.random.Generator) -> list[int]:
        # As published: Laplace noise of scale 2K·Δ/ε on all χ², and the K largest.
        noisy = plain + random.laplace(0, 2 * PLANTED * float(change) / epsilon, len(plain))
        return np.argsort(-noisy)[:PLANTED].tolist()

    def gumbel(epsilon: float, random: np.random.Generator) -> list[int]:
        return noise.top_k(distances, PLANTED, rate=Fraction(epsilon) / (2 * PLANTED)).tolist()

    levels = {
        f"distance, p = {p:g}": AssociationDistances(sizes, threshold_of(p)).answer(data)
        for p in THRESHOLDS
    }
    steps = Fraction(int(change * 2**-EXPONENT) + 2)
    return {
        "distance, permute-and-flip (default)": lambda e, _: peel(distances, Fraction(1), e),
        "distance, exponential": gumbel,
        **{
            name: lambda e, _, scores=scores: peel(scores, Fraction(1), e)
            for name, scores in levels.items()
        },
        "noisy χ², Laplace as published": laplace,
        "χ², permute-and-flip": lambda e, _: peel(statistics, steps, e),
        "difference, permute-and-flip": lambda e, _: peel(
            differences, Fraction(2 * max(weights)), e
        ),
    }


def share_near(chosen: list[int], loci: np.ndarray, positions: np.ndarray) -> float:
    """Return the share of loci that have a chosen site nearby."""
    apart = np.abs(positions[loci][:, None] - positions[np.array(chosen)][None, :])
    return float((apart.min(axis=1) < NEAR).mean())


def half_point(epsilons: tuple[float, ...], shares: list[float]) -> float:
    """Return the ε at which half of the loci are found, between two that were tried."""
    for n in range(len(shares)):
        if shares[n] >= 0.5:
            if n == 0:
                return epsilons[0]
            part = (0.5 - shares[n - 1]) / (shares[n] - shares[n - 1])
            logs = np.log(epsilons[n - 1 : n + 1])
            return float(np.exp(logs[0] + part * (logs[1] - logs[0])))
    return float("inf")


def recovery(runs: int, odds_ratio: float) -> None:
    """Print the curves of recovery."""
    calls = cohort()
    found: dict[str, np.ndarray] = {}
    exact = 0.0
    for run in range(runs):
        random = np.random.default_rng(run)
        own, case, loci = plant_sites(calls, odds_ratio, random)
        data = study(own, case)
        best = np.argsort(-SiteStatistics("allelic", EXPONENT).answer(data))[:PLANTED]
        exact += float(np.isin(loci, best).mean()) / runs
        for name, law in laws(data).items():
            # TopSNPs keeps a third of its ε for the statistics of the chosen sites.
            shares = [np.isin(loci, law(2 * e / 3, random)).mean() for e in EPSILONS]
            found.setdefault(name, np.zeros(len(EPSILONS)))
            found[name] += np.array(shares) / runs
    print(f"{len(calls):,} sites, 1,000 people, {PLANTED} planted sites of odds ratio "
          f"{odds_ratio}, {PLANTED} chosen, {runs} runs; without noise {exact:.2f}")  # fmt: skip
    print(f"{'':38}" + "".join(f"{e:>7g}" for e in EPSILONS) + "   half at")
    for name, shares in found.items():
        print(f"{name:38}" + "".join(f"{s:7.2f}" for s in shares)
              + f"{half_point(EPSILONS, shares.tolist()):10.2f}")  # fmt: skip


def power(path: Path, runs: int) -> None:
    """Print how many loci are found in cohorts of several sizes."""
    calls = np.load(path)
    positions = np.linspace(0, 20e6, len(calls)).astype(np.int64)
    epsilons = (0.5, 1.0, 3.0, 10.0)
    # Ten sites chosen at random are near 10 · 100,000 of 20 million bases.
    print(f"{len(calls):,} sites, {PLANTED} loci, {2 * PLANTED} chosen by distance, {runs} runs; "
          f"by chance {2 * PLANTED * 2 * NEAR / 20e6:.2f}")  # fmt: skip
    print(f"{'people':>7} {'odds ratio':>10} {'p < 5e-8':>9} "
          + "".join(f"{f'ε = {e:g}':>9}" for e in epsilons))  # fmt: skip
    for people in (1000, 2000, 5000, 10000):
        for odds_ratio in (1.2, 1.5, 2.0):
            private = np.zeros(len(epsilons))
            plain = 0.0
            for run in range(runs):
                random = np.random.default_rng(run)
                own, case, loci = draw_cases(calls, people, odds_ratio, random)
                data = study(own, case)
                statistics = SiteStatistics("allelic", EXPONENT).answer(data) * 2.0**EXPONENT
                significant = np.flatnonzero(statistics > 29.717)
                if len(significant):
                    plain += share_near(significant.tolist(), loci, positions) / runs
                query = AssociationDistances(data.public.sizes, threshold_of(THRESHOLD))
                scores = query.answer(data)
                for n, epsilon in enumerate(epsilons):
                    chosen = peel(scores, Fraction(1), 2 * epsilon / 3, 2 * PLANTED, positions)
                    private[n] += share_near(chosen, loci, positions) / runs
            print(f"{people:>7,} {odds_ratio:>10} {plain:>9.2f} "
                  + "".join(f"{share:>9.2f}" for share in private), flush=True)  # fmt: skip


def statistics_errors() -> None:
    """Print the error of χ² by what gets the noise."""
    print(
        f"{'sites':>6} {'people':>7} {'ε':>4} {'from counts':>12} {'on χ²':>8} {'on trend χ²':>12}"
    )
    for sites in (1, 10, 100):
        for people in (1000, 10000):
            random = np.random.default_rng(1)
            half = people // 2
            shares = np.where(np.arange(people)[:, None] < half, 0.4, 0.3)
            calls = random.binomial(2, np.repeat(shares, sites, axis=1))
            data = sf.Genotypes(calls, np.arange(people) < half, **PUBLIC_GROUPS)
            for epsilon in (1, 3):
                errors = []
                for options in (
                    {"measure": "counts"},
                    {"measure": "statistic"},
                    {"measure": "statistic", "test": "trend"},
                ):
                    method = sf.Association(epsilon=epsilon, **options)
                    exact = SiteStatistics(method.test, EXPONENT).answer(data) * 2.0**EXPONENT
                    off = []
                    for seed in range(20):
                        with noise.seeded(seed):
                            off.append(method.release(data).statistic - exact)
                    errors.append(float(np.sqrt(np.mean(np.square(off)))))
                print(f"{sites:>6} {people:>7,} {epsilon:>4} {errors[0]:>12.2f} {errors[1]:>8.1f} "
                      f"{errors[2]:>12.1f}", flush=True)  # fmt: skip


def write_bed(prefix: Path, sites: int, people: int) -> None:
    """Write random PLINK files, a block of sites at a time."""
    random = np.random.default_rng(1)
    width = -(-people // 4)
    # Bytes of four calls each, of which 1 in 50 is missing.
    codes = random.choice(4, size=(2**16, 4), p=[0.16, 0.02, 0.42, 0.40]).astype(np.uint8)
    octets = codes[:, 0] | codes[:, 1] << 2 | codes[:, 2] << 4 | codes[:, 3] << 6
    with open(prefix.with_suffix(".bed"), "wb") as file:
        file.write(bytes([0x6C, 0x1B, 0x01]))
        for low in range(0, sites, 10_000):
            many = min(10_000, sites - low)
            file.write(octets[random.integers(0, 2**16, (many, width))].tobytes())
    with open(prefix.with_suffix(".bim"), "w") as file:
        for n in range(sites):
            file.write(f"{1 + n * 22 // sites}\trs{n + 1}\t0\t{1 + 100 * n}\tA\tG\n")
    with open(prefix.with_suffix(".fam"), "w") as file:
        for n in range(people):
            file.write(f"0 p{n} 0 0 0 {1 + n % 2}\n")


ONE_RELEASE = """
import resource, sys, time
import sfumato as sf
began = time.process_time()
data = sf.read_plink(sys.argv[1], relation="replace_one", groups="public")
read = time.process_time()
release = sf.{method}.release(data)
done = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"{{read - began:9.1f}} {{done - read:9.1f}} {{peak:9.2f}}")
"""


def scale(sites: int, people: int, folder: Path | None) -> None:
    """Print the time and memory of releases from a large .bed file."""
    with tempfile.TemporaryDirectory() as own:
        prefix = (folder or Path(own)) / "large"
        if not prefix.with_suffix(".bed").is_file():
            write_bed(prefix, sites, people)
        size = prefix.with_suffix(".bed").stat().st_size / 1e9
        print(f"{sites:,} sites, {people:,} people, {size:.2f} GB; seconds of CPU and peak GiB")
        print(f"{'':36} {'read':>9} {'release':>9} {'memory':>9}")
        for name, method in (
            ("the ten most associated sites", "TopSNPs(epsilon=3)"),
            ("the spectrum of all sites", "FrequencySpectrum(epsilon=1)"),
            ("frequencies of all sites", "AlleleFrequencies(epsilon=1, delta='1e-7')"),
        ):
            script = ONE_RELEASE.format(method=method)
            answer = subprocess.run(
                [sys.executable, "-c", script, str(prefix)], capture_output=True, text=True
            )
            print(f"{name:36} {answer.stdout.strip() or answer.stderr[-500:]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("section", choices=["recovery", "power", "statistics", "scale"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--odds-ratio", type=float, default=2.0)
    parser.add_argument("--cohort", type=Path)
    parser.add_argument("--sites", type=int, default=1_000_000)
    parser.add_argument("--people", type=int, default=5_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    began = time.process_time()
    if given.section == "recovery":
        recovery(given.runs, given.odds_ratio)
    elif given.section == "power":
        power(given.cohort, given.runs)
    elif given.section == "statistics":
        statistics_errors()
    else:
        scale(given.sites, given.people, given.folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{time.process_time() - began:.0f} s of CPU, {peak:.1f} GiB at most", file=sys.stderr)


if __name__ == "__main__":
    main()
