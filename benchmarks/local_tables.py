"""The tables of local collection, from closed forms and, where said, from repeated surveys.

    python benchmarks/local_tables.py [bits|guesses|shares|estimators|records|measures]

Everything but `estimators` and the simulated part of `measures` is exact: no report is drawn.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from local_central import central_share_variance
from sfumato.local import LaplaceResponse, RandomizedResponse, chi_squared, compare
from sfumato.local.axes import AxisLaws, FlatLaw
from sfumato.local.compare import loss_of_guesses, variance_of_shares
from sfumato.local.contingency import table_of_counts
from sfumato.local.estimation import shares_of_counts
from sfumato.local.law import PureLaw, law_of
from sfumato.local.multi_response import mean_variances
from sfumato.local.simplex import expectation_step, likeliest, on_simplex

PEOPLE = 248
SHARES = np.array([0.30, 0.27, 0.20, 0.12, 0.07, 0.04])
TABLE = np.array([[0.2, 0.1, 0.1], [0.1, 0.2, 0.3]])


def told(k: int, epsilon: float | str) -> RandomizedResponse:
    return RandomizedResponse(epsilon=epsilon, answers=k)


def laplace(k: int, epsilon: float | str) -> LaplaceResponse:
    return LaplaceResponse(epsilon=epsilon, answers=k)


def bits() -> Iterator[tuple[object, ...]]:
    """One bit: randomised response beside Laplace noise with a threshold."""
    yield "ε", "p told", "p Laplace", "ε realised", "n·var told", "n·var Laplace", "ratio", "2/ε²"
    for epsilon in ("0.1", "0.5", "1", "2", "5", "10"):
        one, other = told(2, epsilon), laplace(2, epsilon)
        mine, theirs = (variance_of_shares(d, 1, of="sample").mean() for d in (one, other))
        yield (
            epsilon,
            float(one.p),
            other.matrix[0, 0],
            other.realised_epsilon,
            mine,
            theirs,
            theirs / mine,
            2 / float(epsilon) ** 2,
        )


def guesses() -> Iterator[tuple[object, ...]]:
    """Guessing single answers: what holds of 'randomised response errs less', and what does not."""
    yield "what", "told", "Laplace", "told errs less"

    def line(what: str, mine: float, theirs: float) -> tuple[object, ...]:
        return what, mine, theirs, bool(mine <= theirs)

    for epsilon, share in (("1", 0.5), ("1", 0.1), ("2", 0.5)):
        found = [loss_of_guesses(d(2, epsilon), [1 - share, share])[1] for d in (told, laplace)]
        yield line(f"bit 1, ε {epsilon}, share {share}", *found)
    found = [loss_of_guesses(d(6, "0.5"))[0] for d in (told, laplace)]
    yield line("first of 6 answers, ε 0.5 (refutes theorem 11)", *found)
    found = [loss_of_guesses(d(6, 1), loss="squared").mean() for d in (told, laplace)]
    yield line("6 answers, squared, ε 1 (refutes theorem 11)", *found)
    for t, epsilon in ((6, 1), (6, 2), (6, 5), (15, "0.2")):
        found = [loss_of_guesses(d(t, epsilon)).mean() for d in (told, laplace)]
        yield line(f"{t} answers on average, ε {epsilon}", *found)


def shares() -> Iterator[tuple[object, ...]]:
    """Mean variance of the shares of t answers in a population, all equally common."""
    yield "t", "ε", "told", "Laplace", "ratio", "trusted custodian"
    for t in (3, 6):
        for epsilon in ("0.1", "0.5", "1", "2", "5"):
            found = compare([RandomizedResponse, LaplaceResponse], t, epsilon, PEOPLE)
            by_name = {item.name: item.average for item in found}
            mine, theirs = by_name["RandomizedResponse"], by_name["LaplaceResponse"]
            central = central_share_variance(t, float(epsilon), PEOPLE)
            yield t, epsilon, mine, theirs, theirs / mine, central


def _steps(matrix: np.ndarray, counts: np.ndarray, steps: int) -> np.ndarray:
    """Return the shares after some plain steps of expectation maximisation from equal ones."""
    found = np.full(matrix.shape[1], 1 / matrix.shape[1])
    for _ in range(steps):
        found, _ = expectation_step(matrix, found, counts / counts.sum())
    return found


def estimators(runs: int = 60, steps: int = 1000) -> Iterator[tuple[object, ...]]:
    """Mean squared error against the sample's shares, by repeated surveys of 248 people."""
    heads = ["inverse", "project", "likeliest", f"{steps} steps"]
    yield "ε", *(f"told {h}" for h in heads), *(f"Laplace {h}" for h in heads), "uniform guess"
    held = np.round(SHARES * PEOPLE).astype(int)
    held[0] += PEOPLE - held.sum()
    true = held / PEOPLE
    for epsilon in ("0.1", "0.5", "1", "2", "5"):
        row: list[object] = [epsilon]
        for kind in (told, laplace):
            rng = np.random.default_rng(1)
            design = kind(6, epsilon)
            law, matrix = law_of(design), design.matrix
            errors = np.zeros(4)
            for _ in range(runs):
                counts = sum(rng.multinomial(m, matrix[:, v]) for v, m in enumerate(held))
                unbiased = shares_of_counts(law, counts, PEOPLE).unbiased
                made = [
                    unbiased,
                    on_simplex(unbiased),
                    likeliest(law, counts, steps=2000),
                    _steps(matrix, counts, steps),
                ]
                errors += [((found - true) ** 2).mean() for found in made]
            row += list(errors / runs)
        yield *row, ((1 / 6 - true) ** 2).mean()


def _response(k: int, ratio: Fraction) -> PureLaw:
    return PureLaw(k, ratio / (ratio + k - 1), 1 / (ratio + k - 1), Fraction(0), Fraction(0))


def records() -> Iterator[tuple[object, ...]]:
    """Mean cell variance of a 6 × 3 table of 248 people, by how ε is shared."""
    yield "ε", "split", "joint (told)", "joint (best)", "ε for each (2ε in all)"
    even = np.full((6, 3), 1 / 18)

    def variance(law: AxisLaws | FlatLaw) -> float:
        return float(law.spread(even, population=True).mean() / PEOPLE)

    for epsilon in (1, 2, 5):
        half, whole = (Fraction(math.exp(e)) for e in (epsilon / 2, epsilon))
        yield (
            epsilon,
            variance(AxisLaws((_response(6, half), _response(3, half)))),
            variance(FlatLaw(_response(18, whole), (6, 3))),
            mean_variances((6, 3), epsilon, tables=True)["joint"] / PEOPLE,
            variance(AxisLaws((_response(6, whole), _response(3, whole)))),
        )


def measures(runs: int = 400) -> Iterator[tuple[object, ...]]:
    """χ² of a 2 × 3 table at e^ε = 3 for each question: the delta method beside surveys."""
    yield "n", "true χ²", "delta s.d.", "bias", "mean of surveys", "s.d. of surveys"
    law = AxisLaws((_response(2, Fraction(3)), _response(3, Fraction(3))))
    reported = law.reported_shares(TABLE).ravel()
    rng = np.random.default_rng(1)
    for n in (1_000, 10_000, 100_000):
        exact = chi_squared(table_of_counts(law, reported * n, n))
        drawn = rng.multinomial(n, reported, size=runs)
        found = [chi_squared(table_of_counts(law, counts, n)).value for counts in drawn]
        yield n, exact.value, math.sqrt(exact.variance), exact.bias, np.mean(found), np.std(found)


TABLES: dict[str, Callable[[], Iterator[tuple[object, ...]]]] = {
    "bits": bits,
    "guesses": guesses,
    "shares": shares,
    "estimators": estimators,
    "records": records,
    "measures": measures,
}


def show(name: str) -> None:
    """Print one table."""
    print(f"{name}: {TABLES[name].__doc__}")
    for line in TABLES[name]():
        print("  " + " | ".join(f"{v:.5g}" if isinstance(v, float) else str(v) for v in line))


def main(names: list[str]) -> None:
    for name in names or list(TABLES):
        show(name)
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
