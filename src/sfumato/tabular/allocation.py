"""How the default shares its budget: one-way tables first, then rounds, from public figures.

Everything here is arithmetic on declared sizes, the number of rows, noisy one-way counts and a
noisy figure of how strongly columns depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.count_noise import count_noise
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import ZCDP, Loss
from sfumato.tabular.coarsening import WORTH_A_CODE
from sfumato.tabular.counting_method import mean_absolute
from sfumato.tabular.one_way import shares_by_size

__all__ = [
    "MOST_MODEL_CELLS",
    "NO_ROUNDS",
    "Rounds",
    "plan_rounds",
    "plan_shares",
    "tolerate_noise",
]

#: The number of codes of each column, for a mean absolute noise on a cell.
Codes = Callable[[float], NDArray[np.int64]]

#: The share of a round that chooses its table; the rest measures it.
CHOICE_SHARE = Fraction(15, 100)
#: The mean distance of pairs of columns from independent ones, in L1 and as a part of the rows, for
#: which the figures below are meant; the bounds within which another distance counts.
USUAL_DEPENDENCE = 0.2
LEAST_DEPENDENCE, MOST_DEPENDENCE = 0.02, 0.8
#: How many times the usual noise tables of several columns are worth at least and at most.
LEAST_TOLERANCE = sqrt(LEAST_DEPENDENCE / USUAL_DEPENDENCE)
MOST_TOLERANCE = sqrt(MOST_DEPENDENCE / USUAL_DEPENDENCE)
#: One-way tables get the share at which noise changes their counts by this part of the rows.
ONE_WAY_NOISE = 0.06
#: Bounds of that share where there are rounds; where even the whole budget leaves so many times
#: that noise, one-way tables get all of it.
LEAST_ONE_WAY, MOST_ONE_WAY, ALL_ONE_WAY = 0.15, 0.8, 2.0
#: The noise of all rounds on typical tables adds up to at most this many times the rows. Gaussian
#: noise grows with the root of the number of tables only, and may be larger.
WORTH, WORTH_GAUSSIAN = 1.0, 2.0
#: That many columns are usual; more columns are worth more noise in proportion, since it takes as
#: many more tables to join them.
USUAL_COLUMNS = 12
#: There are enough rounds for a tree that joins all columns where the noise on each of its tables
#: changes it by at most this part of the rows.
TREE_NOISE = 0.25
#: No table is smaller than this many cells when rounds are planned.
FEWEST_CELLS = 16.0
#: There are no more rounds than columns, or than twice as many under Gaussian noise, which grows
#: more slowly with them; or than this where columns are few; and in any case no more than this,
#: since they take long and are hardly ever worth it.
MOST_PER_COLUMN, MOST_PER_COLUMN_GAUSSIAN = 1, 2
MOST_OF_FEW, MOST_ROUNDS = 8, 128
#: One table of all columns replaces the rounds where it leaves at most this many times the squared
#: noise on a typical pair, since it has no other error; and where its noise changes at most this
#: part of the rows.
JOINT_WORTH, JOINT_NOISE = 2.0, 0.4
#: The most cells of the model.
MOST_MODEL_CELLS = 2**19
#: A table may have so many cells that its noise adds up to this many times the rows.
LARGEST_NOISE = 6.0


@dataclass(frozen=True)
class Rounds:
    """How rounds share what is left for them.

    Parameters
    ----------
    number
        How many tables are chosen and measured.
    choice, table
        The share of one choice and of one measurement.
    cells
        The most cells of a table.
    spread
        The mean absolute noise on a cell of such a table.
    joint
        Whether the only table is that of all columns, which is not chosen.
    """

    number: int
    choice: Fraction
    table: Fraction
    cells: float
    spread: float
    joint: bool = False


NO_ROUNDS = Rounds(0, Fraction(0), Fraction(0), 0.0, 0.0)


def tolerate_noise(dependence: float, deviation: float) -> float:
    """Return how many times the usual noise tables of several columns are worth.

    Parameters
    ----------
    dependence
        The noisy mean distance of pairs of columns from independent ones, as a part of the rows.
    deviation
        The standard deviation of its noise.

    Notes
    -----
    Columns that depend on each other strongly lose more without a common table than noise takes
    away. A figure that is mostly noise is moved towards the usual one.
    """
    weight = USUAL_DEPENDENCE**2 / (USUAL_DEPENDENCE**2 + deviation**2)
    likely = weight * dependence + (1 - weight) * USUAL_DEPENDENCE
    return sqrt(min(max(likely, LEAST_DEPENDENCE), MOST_DEPENDENCE) / USUAL_DEPENDENCE)


def drown_columns(noise: float, rows: int | None) -> bool:
    """Tell whether noise is so large that columns get all of the budget.

    Parameters
    ----------
    noise
        The mean absolute noise on the cells of a column, all together.
    rows
        The number of rows as declared; `None` if nothing is known about it.
    """
    return rows is not None and noise / (rows + noise) > ALL_ONE_WAY * ONE_WAY_NOISE


def plan_shares(
    sizes: Sequence[int],
    rows: float,
    limit: Loss,
    relation: Relation,
    fixed: int | None = None,
    fewest: int = 0,
    tolerance: float = 1.0,
) -> tuple[Fraction, Rounds]:
    """Return the share of one-way tables, and what the rest is expected to be spent on.

    Parameters
    ----------
    sizes
        The declared size of each column.
    rows
        The number of rows, public or noisy.
    limit, relation
        The loss for one record, and what a neighbour is.
    fixed
        The number of rounds, if it is asked for.
    fewest
        The fewest rounds.
    tolerance
        How many times the usual noise tables of several columns are worth.

    Notes
    -----
    Errors of one-way tables are in every table of several columns, so they come first: they get
    what keeps their noise small. With mean absolute noise b on a cell, k cells of n rows are off by
    u = k·b/n of the rows; fitting leaves about u/(1 + u) of it, since counts are not negative.
    """
    useful = [size for size in sizes if size > 1]
    if len(useful) < 2 or fixed == 0:
        return Fraction(1), NO_ROUNDS
    gaussian = isinstance(limit, ZCDP)
    shares = shares_by_size(useful, gaussian=gaussian)
    noises = [
        size * _spread(limit, relation, share) / rows
        for size, share in zip(useful, shares, strict=True)
    ]
    off = float(np.mean([noise / (1 + noise) for noise in noises]))
    noise = ONE_WAY_NOISE * tolerance
    if off > ALL_ONE_WAY * noise and fixed is None and not fewest:
        return Fraction(1), NO_ROUNDS
    # Half the noise takes twice the share under pure epsilon, four times the share under zCDP.
    wanted = (off / noise) ** (2 if gaussian else 1)
    share = Fraction(round(1000 * min(max(wanted, LEAST_ONE_WAY), MOST_ONE_WAY)), 1000)
    return share, plan_rounds(
        _most_codes(sizes, rows), rows, limit, relation, 1 - share, fixed, fewest, tolerance
    )


def plan_rounds(
    codes: Codes,
    rows: float,
    limit: Loss,
    relation: Relation,
    left: Fraction,
    fixed: int | None = None,
    fewest: int = 0,
    tolerance: float = 1.0,
) -> Rounds:
    """Return how many further tables are measured, and how large they may be.

    Parameters
    ----------
    codes
        The number of codes of each column, for a mean absolute noise on a cell.
    rows
        The number of rows, public or noisy.
    limit, relation
        The loss for one record, and what a neighbour is.
    left
        The share of it that is not spent yet.
    fixed
        The number of rounds, if it is asked for.
    fewest
        The fewest rounds.
    tolerance
        How many times the usual noise they are worth.
    """
    number = max(_worthwhile(codes, rows, limit, relation, left, tolerance), fewest)
    if fixed is not None:
        number = fixed
    if number == 0:
        return NO_ROUNDS
    if fixed is None and not fewest:
        spread = _spread(limit, relation, left)
        if _joint_is_better(codes(spread), spread, rows, _slowdown(limit, number)):
            cells = prod(codes(spread).tolist())
            return Rounds(1, Fraction(0), left, float(cells), spread, joint=True)
    each = left / number
    table = each * (1 - CHOICE_SHARE)
    spread = _spread(limit, relation, table)
    useful = np.sort(codes(spread))
    # The smallest pair is always worth a look where rounds were asked for.
    cells = max(LARGEST_NOISE * rows / spread, float(useful[useful > 1][:2].prod()))
    return Rounds(number, each * CHOICE_SHARE, table, cells, spread)


def _slowdown(limit: Loss, number: int) -> int:
    """Return by which factor the variance of noise grows if so many tables share a budget."""
    return number if isinstance(limit, ZCDP) else number**2


def _joint_is_better(sizes: NDArray[np.int64], spread: float, rows: float, slowdown: int) -> bool:
    """Tell whether one table of all columns is better than several of some.

    A pair of m cells adds up C/m cells of a table of C. Its noise then has the variance C/m in each
    cell, against R² (R under zCDP) where R tables share the budget.
    """
    cells: int = prod(sizes.tolist())
    typical = _typical_cells(sizes, spread, rows)
    most = min(JOINT_WORTH * typical * slowdown, JOINT_NOISE * rows / spread, MOST_MODEL_CELLS)
    return cells <= most


def _spread(limit: Loss, relation: Relation, share: Fraction) -> float:
    """Return the mean absolute noise on a count that gets a share."""
    return mean_absolute(count_noise((1,), limit.share(share), relation))


def _worthwhile(
    codes: Codes,
    rows: float,
    limit: Loss,
    relation: Relation,
    left: Fraction,
    tolerance: float,
) -> int:
    """Return how many rounds are worth their noise.

    What a model leaves unexplained falls about as d/R with the numbers d of columns and R of
    rounds, since a tree of tables that joins all columns has d - 1, and the noise of a table grows
    with R. The sum of both is least where R tables' noise is in proportion to d times the rows.
    """

    def noise(number: int) -> float:
        """Return the noise on a typical table of so many, as a part of the rows."""
        spread = _spread(limit, relation, left * (1 - CHOICE_SHARE) / number)
        return _typical_cells(codes(spread), spread, rows) * spread / rows

    columns = codes(0.0).size
    worth, most = WORTH, MOST_PER_COLUMN
    if isinstance(limit, ZCDP):
        worth, most = WORTH_GAUSSIAN, MOST_PER_COLUMN_GAUSSIAN
    worth *= tolerance * max(columns / USUAL_COLUMNS, 1.0)
    most = min(max(most * columns, MOST_OF_FEW), comb(columns, 2), MOST_ROUNDS)
    if most == 0:
        return 0
    numbers = range(1, most + 1)
    least = next((number - 1 for number in numbers if number * noise(number) > worth), most)
    tree = min(columns - 1, most)
    return max(least, tree if noise(tree) <= TREE_NOISE * tolerance else 1)


def _typical_cells(sizes: NDArray[np.int64], spread: float, rows: float) -> float:
    """Return the cells of a typical table of two columns, of those that are on offer."""
    useful = np.sqrt(sizes[sizes > 1].astype(np.float64))
    roots = np.outer(useful, useful)[np.triu_indices(useful.size, 1)]
    offered = roots[roots**2 * spread <= LARGEST_NOISE * rows]
    return max(float(offered.mean()) ** 2, FEWEST_CELLS) if offered.size else inf


def _most_codes(sizes: Sequence[int], rows: float) -> Codes:
    """Return the most codes that columns keep, before they are measured.

    No column keeps more than one whose values are equally frequent.
    """
    useful = np.asarray([size for size in sizes if size > 1], dtype=np.float64)

    def codes(spread: float) -> NDArray[np.int64]:
        most = sqrt(rows / (WORTH_A_CODE * spread)) if spread else inf
        return np.minimum(useful, max(most, 2.0)).astype(np.int64)

    return codes
