"""Robust private linear regression: clipped rows, noisy statistics, a fit that knows the noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from sfumato.data.table import TablePublic
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.loss import Number, pure_within
from sfumato.privacy.parameters import SHARE, Constraint, Flag, OneOf, OrNone, is_list, parameter
from sfumato.privacy.plan import Plan
from sfumato.privacy.program import Program
from sfumato.privacy.registry import find_published
from sfumato.regression.design import sums_of
from sfumato.regression.estimator import Setting
from sfumato.regression.linear_method import LinearMethod
from sfumato.regression.model import RegressionModel
from sfumato.regression.multiples import Multiple
from sfumato.regression.robust_estimator import ENGINES, RobustEstimator
from sfumato.regression.robust_statistics import Parts, published_split
from sfumato.regression.robust_thresholds import PUBLISHED_SHARES, Thresholds, best_thresholds

__all__ = ["RobustLinearRegression"]

#: Where few entries of a row differ from 0 they are clipped at their usual size.
SPARSE_THRESHOLD = 1.0
#: The number of records that settings are chosen for, where nothing is known of it.
UNKNOWN_RECORDS = 1000.0


@dataclass(frozen=True)
class Shares(Constraint):
    """Three shares of the loss that add up to 1."""

    allowed = "three numbers of at least 1e-6 that add up to 1"

    def parse(self, value: Any) -> tuple[Fraction, Fraction, Fraction]:
        """Return the shares as fractions."""
        if not is_list(value):
            raise TypeError
        first, second, third = (SHARE.parse(item) for item in value)
        if first + second + third != 1:
            raise ValueError
        return first, second, third


@dataclass(frozen=True, kw_only=True)
class RobustLinearRegression(LinearMethod):
    """Release a Bayesian linear regression from noisy statistics of clipped rows.

    Parameters not listed here are those of every linear method (`LinearMethod`).

    Parameters
    ----------
    clip
        Where entries of rows are clipped, in multiples of their usual size. Default, also of
        `bound` and `moment_shares`: the best value on synthetic data of the same public size.
    moment_shares
        Shares of the privacy loss for the matrix of second moments, the products with the target,
        and the square of the target.
    engine
        `"noise_aware"`: a posterior that accounts for the noise, with valid intervals. `"gibbs"`:
        Gamma priors and a ridge as large as the noise. `"fixed"`: both precisions are 1.
    calibration
        `"tight"`: noise scaled to the joint sensitivity of all statistics. `"seed"`: the published
        noise scales, which are also private, and larger.
    variant
        `"published"`: the pipeline as published. It releases private means and thresholds without
        noise, so it is not private, and its variational fit stops early.
    accept_unproven
        Must be true for the published variant, which is not private.
    rows
        What happens to a record whose row is too long. `"weigh"`: the record gets less weight.
        `"clip"`: its row is shortened. `"unit"`: every row is scaled to length 1, as published.

    Notes
    -----
    Privacy: entries of rows and targets are clipped at public thresholds; geometric noise on all
    statistics is scaled to the most that one record changes them jointly, which is less than the
    sum of the separate changes (docs/proofs/robust-regression.md). The method is that of Nieminen
    (2017) and Honkela, Das, Nieminen, Dikmen and Kaski (2018).
    """

    proof: ClassVar[str] = "robust-regression.md"
    former_names: ClassVar[dict[str, str]] = {"split": "moment_shares"}

    radius: Number = parameter(Multiple(), 2)
    rows: Any = parameter(OneOf(("clip", "unit", "weigh")), "clip")
    clip: Number | None = parameter(OrNone(Multiple()), None)
    moment_shares: Any = parameter(OrNone(Shares()), None)
    engine: str = parameter(OneOf(ENGINES), "noise_aware")
    calibration: str = parameter(OneOf(("tight", "seed")), "tight")
    variant: str = parameter(OneOf(("proved", "published")), "proved")
    accept_unproven: bool = parameter(Flag(), False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "published" and not self.accept_unproven:
            raise ValueError(
                "the published pipeline is not private: it releases thresholds and means of the "
                "data without noise; use variant='proved', or set accept_unproven=True for a "
                "comparison without a privacy guarantee"
            )
        if self.variant == "published" and self.delta is not None:
            raise ValueError("the published pipeline has a pure privacy loss; leave delta out")

    @property
    def basis(self) -> Basis:
        """Proved, but for the published variant."""
        return Basis.PROVED if self.variant == "proved" else Basis.PUBLISHED

    def estimator(self, public: TablePublic) -> RobustEstimator:
        """Return what finds the weights, before records are counted."""
        return self.chosen(public, self._planned(public))

    def chosen(self, public: TablePublic, setting: Setting) -> RobustEstimator:
        """Return the estimator with thresholds for about so many records."""
        design = self.design(public)
        # Of a column with several features a record has one.
        filled = max(len(design.factors) + design.intercept, 1)
        return RobustEstimator(
            filled=filled if self.calibration == "tight" else setting.dimension,
            thresholds=self._thresholds(setting, filled),
            engine=self.engine,
            longest=None if self.rows == "unit" else float(Fraction(self.radius)),
            cautious=self.calibration == "seed",
        )

    def _thresholds(self, setting: Setting, filled: int) -> Thresholds:
        """Return the thresholds that were given, and the best ones for the others."""
        split = None if self.moment_shares is None else Parts(*self.moment_shares)
        if self.calibration == "seed":
            split = published_split(split or PUBLISHED_SHARES)
        if self.clip is not None and self.bound is not None and split is not None:
            return Thresholds(float(Fraction(self.clip)), float(Fraction(self.bound)), split)
        records = UNKNOWN_RECORDS if setting.records is None else setting.records
        epsilon = float(pure_within(setting.limit))
        found = best_thresholds(records, setting.dimension, epsilon, setting.relation)
        if filled < setting.dimension:
            found = replace(found, rows=SPARSE_THRESHOLD)
        return Thresholds(
            found.rows if self.clip is None else float(Fraction(self.clip)),
            found.answers if self.bound is None else float(Fraction(self.bound)),
            split or found.split,
        )

    def plan(self, public: TablePublic) -> Plan:
        """Return what is paid for, and how wide the noise is."""
        if self.variant == "proved":
            return super().plan(public)
        self.check(public)
        step = find_published("robust_regression:describe_step")(self.loss())
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(step,),
            sizes=sums_of(self.design(public).dimension),
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[RegressionModel]:
        """Ask as all linear methods do, or as the published pipeline did."""
        if self.variant == "proved":
            return super().program(public, budget)
        fitted: Program[RegressionModel] = find_published("robust_regression:fit_as_published")(
            self, public, budget
        )
        return fitted
