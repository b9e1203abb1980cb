"""PrivateERM: a linear support vector machine by objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.data.table import TablePublic
from sfumato.mechanisms.choose import Choose
from sfumato.mechanisms.objective import ObjectivePerturbation, calibrate
from sfumato.noise.exact import exact
from sfumato.privacy.budget import Budget
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Number
from sfumato.privacy.parameters import Constraint, OneOf, OrNone, is_list, parameter, read_exact
from sfumato.privacy.plan import Plan, PlanStep
from sfumato.privacy.program import Ask, Program
from sfumato.tabular.classifier import Classifier, ClassifyingMethod, direction
from sfumato.tabular.queries import Labelled, Records, RuleScores

WEIGHTS, CHOICE, VALIDATION, PARTS = "weights", "choice", "validation", "parts"
#: Costs beyond these are no different from those at them.
LEAST_COST, MOST_COST = Fraction(1, 10**6), Fraction(10**6)


@dataclass(frozen=True)
class Cost(Constraint):
    """The cost C of a support vector machine."""

    allowed = "from 1e-6 to 1e6"

    def parse(self, value: Any) -> Fraction:
        """Return the cost as a fraction."""
        cost = read_exact(value)
        if not LEAST_COST <= cost <= MOST_COST:
            raise ValueError
        return cost


@dataclass(frozen=True)
class Costs(Constraint):
    """A list of distinct costs."""

    allowed = "a list of two or more distinct costs from 1e-6 to 1e6"

    def parse(self, value: Any) -> tuple[Fraction, ...]:
        """Return the costs as fractions."""
        if not is_list(value):
            raise TypeError
        costs = tuple(Cost().parse(item) for item in value)
        if len(costs) < 2 or len(set(costs)) != len(costs):
            raise ValueError
        return costs


@dataclass(frozen=True, kw_only=True)
class PrivateERM(ClassifyingMethod):
    """Release a linear support vector machine by objective perturbation.

    Parameters
    ----------
    epsilon
        Privacy loss for one unit of the table.
    target
        The column to predict.
    positive
        The values of the target that are positive; all others are negative.
    cost
        Cost C of a misclassification, as in any support vector machine: the weights minimise Σ
        ℓ(y·w·x) + ‖w‖²/2C, with ‖x‖ at most 1. A small epsilon may need a smaller cost.
    tune
        Costs to choose from, instead of `cost`. Each is tried on a part of the records. Costs that
        are equal in effect at a small epsilon are tried once.
    variant
        How the privacy loss is split between noise and curvature. `"tight"`: a tighter proof, which
        needs less for the curvature than the paper. `"paper"`: as in the paper, where a larger
        epsilon can mean more noise. `"larger"`: as in the paper, with that corrected.

    Notes
    -----
    Privacy: the number of records is not used. The privacy loss is ε′ for the random linear term
    and ln(1 + c/Λ) for the curvature of the objective; 1 % of ε covers the numerical error of the
    minimiser. With `tune` one record is in one part, and the number of mistakes on the last part,
    by which a cost is chosen, changes by at most 1 (docs/proofs/objective-perturbation.md).
    """

    proof: ClassVar[str] = "objective-perturbation.md"
    small: ClassVar[str] = "one number per feature"
    former_names: ClassVar[dict[str, str]] = {"calibration": "variant"}

    cost: Number = parameter(Cost(), 1)
    tune: Any = parameter(OrNone(Costs()), None)
    variant: str = parameter(OneOf(("tight", "larger", "paper"), {"published": "paper"}), "tight")

    def check(self, public: TablePublic) -> None:
        """Raise where the target is unknown or epsilon is too small for any fit."""
        super().check(public)
        self.fits(public)

    def part_budget(self, public: TablePublic) -> tuple[Fraction, Relation]:
        """Return the loss and the relation in which one fit is priced."""
        limit, relation = self.record_budget(public)
        if self.tune is not None and relation is Relation.REPLACE_ONE:
            # A replaced record can leave one part and enter another.
            limit, relation = limit.per_unit(2), Relation.ADD_REMOVE
        return limit.epsilon, relation  # type: ignore[union-attr]

    def fits(self, public: TablePublic) -> dict[str, ObjectivePerturbation]:
        """Return the fits, by their labels; costs that come to the same are fitted once."""
        loss, relation = self.part_budget(public)
        dimension = self.task(public).features.dimension
        costs = {WEIGHTS: exact(self.cost)}
        if self.tune is not None:
            costs = {f"C = {cost}": cost for cost in self.tune}
        fits = {
            label: calibrate(
                dimension,
                loss,
                1 / cost,
                relation,
                calibration=self.variant,  # type: ignore[arg-type]
            )
            for label, cost in costs.items()
        }
        first = {fit: label for label, fit in reversed(fits.items())}
        return {label: fit for label, fit in fits.items() if first[fit] == label}

    def choice(self, public: TablePublic) -> Choose:
        """Return the choice among costs: a record more is a mistake more for some of them."""
        loss, _ = self.part_budget(public)
        return Choose(
            candidates=len(self.fits(public)),
            sensitivity=Fraction(1),
            epsilon=loss,
            # A replaced record may move the counts of mistakes both ways within one part.
            monotone=public.relation is Relation.ADD_REMOVE,
        )

    def plan(self, public: TablePublic) -> Plan:
        """Return how large the random term is beside the gradient of one record."""
        self.check(public)
        fits = self.fits(public)
        first = max(fits.values(), key=lambda fit: fit.scale)
        length = self.task(public).features.dimension * float(first.scale)
        fitting = PlanStep(
            what="a linear classifier" if self.tune is None else f"{len(fits)} classifiers",
            loss=self.loss(),
            noise=f"a random pull as of {length:,.4g} records",
            error="larger with fewer records, and not known without them",
            figures={"margin": length, "strength": float(first.strength)},
        )
        notes = [
            f"With C = {float(1 / fit.strength):.4g} the curvature leaves ε′ = "
            f"{float(fit.noise):.4g} for the random pull."
            for fit in fits.values()
        ]
        if self.tune is not None:
            choice = self.choice(public)
            short = math.log(20 * choice.candidates) / float(choice.rate)
            notes.append(
                f"The chosen cost makes at most {short:,.4g} more mistakes than the best, 19 times "
                f"in 20, on 1/{len(fits) + 1} of the records. The parts share one price."
            )
        return Plan(
            method=self.name,
            guarantee=self.guarantee(public),
            steps=(fitting,),
            notes=tuple(notes),
        )

    def program(self, public: TablePublic, budget: Budget) -> Program[Classifier]:
        """Ask for the weights; with `tune` for those of each cost, and then which cost is best."""
        task, fits = self.task(public), self.fits(public)
        label, parts = WEIGHTS, 1
        if self.tune is None:
            slices = [budget]
        else:
            *slices, last = budget.parallel([*fits, VALIDATION], name=PARTS)
            parts = len(slices) + 1
        records = Records(task, parts)
        told = yield [
            Ask(piece, fit, Labelled(records, part), label)
            for part, (piece, (label, fit)) in enumerate(zip(slices, fits.items(), strict=True))
        ]
        weights = {label: fit.read(w) for (label, fit), w in zip(fits.items(), told, strict=True)}
        if self.tune is not None:
            directions = np.stack([direction(w) for w in weights.values()], axis=1)
            scores = RuleScores(records, directions, part=len(fits))
            label = list(fits)[(yield Ask(last, self.choice(public), scores, CHOICE))]
        fit = fits[label]
        about = (
            "It is a linear support vector machine with "
            f"C = {float(1 / fit.strength):.4g}, fitted with a random pull so that no single "
            "record decides."
        )
        return Classifier(public, task, weights[label], about)
