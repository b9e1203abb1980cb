"""Identity inference: which record of an anonymous genotype table is a person with known traits?

NOT PRIVATE where the records are those of real people. The outcome is for the custodian's eyes and
is never part of a release, a certificate or its report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import noise
from sfumato.attacks.genomic_outcome import POPULATION_REMARK, GenomicOutcome
from sfumato.attacks.outcome import USUAL
from sfumato.genomics.codings import MISSING, state_probabilities
from sfumato.genomics.site_names import split_name
from sfumato.genomics.trait_network import TraitNetwork
from sfumato.sections import Grid
from sfumato.sections.drawing import ACCENT, INK, SHADES, SOFT

__all__ = ["METHODS", "IdentityInference", "IdentityOutcome", "IdentityRow"]

Floats = NDArray[np.float64]
States = NDArray[np.int8]
#: A model, or a function that makes a new one for every run, say with fresh noise.
Model: TypeAlias = TraitNetwork | Callable[[], TraitNetwork]
METHODS = ("likelihood_ratio", "likelihood")
#: Probabilities of records that are kept for targets with the same known traits.
MOST_KEPT = 2**24


@dataclass(frozen=True)
class IdentityRow:
    """How well a person is found with some number of known traits. Not private.

    Parameters
    ----------
    release, method
        What was released, and how records are weighed.
    known
        The number of traits that the attacker knows.
    mean, deviation
        The probability that the attack gives to the true record: mean and standard deviation over
        targets, each averaged over the sets of known traits.
    first
        How often the true record is the likeliest one; a tie of k counts 1/k.
    rank
        The mean rank of the true record, 1 being the first.
    new_trait
        The mean probability given to those traits of the target that the attacker does not know;
        `None` if there are none.
    new_trait_guess
        The mean prevalence of these traits: random guessing.
    records, targets
        The number of records, and of targets.
    """

    release: str
    method: str
    known: int
    mean: float
    deviation: float
    first: float
    rank: float
    new_trait: float | None
    new_trait_guess: float | None
    records: int
    targets: int

    @property
    def guess(self) -> float:
        """The probability of the true record by random guessing."""
        return 1 / self.records

    @property
    def margin(self) -> float:
        """How far the mean may be off by chance, 19 times in 20."""
        return USUAL * self.deviation / sqrt(self.targets)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        names = ("release", "method", "known", "mean", "deviation", "margin", "first", "rank",
                 "new_trait", "new_trait_guess", "records", "targets", "guess")  # fmt: skip
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class IdentityOutcome(GenomicOutcome):
    """How well people with known traits are found among records, beside guessing. Not private.

    Parameters
    ----------
    rows
        One for each release, method and number of known traits.
    simulated
        Whether targets were drawn from the model, as in the published evaluation, or are people of
        the table.
    model
        The size and the choices of the model.
    """

    rows: tuple[IdentityRow, ...]
    simulated: bool
    model: str
    attack: ClassVar[str] = "identity"
    title: ClassVar[str] = "Whose record is it? Identity inference from known traits"
    caption: ClassVar[str] = (
        "The mean probability that the attack gives to the true record, against the number of "
        "traits that the attacker knows. The dotted line is random guessing."
    )

    def __getitem__(self, key: tuple[str, str, int]) -> IdentityRow:
        """Return the row of a release, a method and a number of known traits."""
        return next(row for row in self.rows if (row.release, row.method, row.known) == key)

    def figures(self) -> dict[str, Any]:
        """Return the rows as plain documents."""
        return {
            "simulated": self.simulated,
            "model": self.model,
            "rows": [row.to_json() for row in self.rows],
        }

    def grid(self) -> Grid:
        """Return one line per release, method and number of known traits."""
        head = ("release", "method", "traits known", "guessing", "mean", "s.d.", "likeliest",
                "rank", "new traits", "by prevalence")  # fmt: skip
        lines = tuple(
            (row.release, row.method.replace("_", " "), f"{row.known}", f"{row.guess:.4f}",
             f"{row.mean:.4f}", f"{row.deviation:.4f}", f"{100 * row.first:.1f} %",
             f"{row.rank:.1f}", _optional(row.new_trait), _optional(row.new_trait_guess))
            for row in self.rows
        )  # fmt: skip
        return Grid(head, lines, numbers=tuple(range(2, len(head))))

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return who was attacked with what."""
        first = self.rows[0]
        target = (
            "drawn from the model and added to the table"
            if self.simulated
            else ("people of the table whose traits are known")
        )
        return (
            ("the attacker has", "an anonymous table of genotypes that contains the target, some "
             "traits of the target and published associations"),
            ("model", self.model),
            ("records", f"{first.records:,}"),
            ("targets", f"{first.targets:,}, {target}"),
            ("likeliest", "how often the true record has the highest probability"),
            ("rank", "the mean rank of the true record"),
            ("new traits", "the probability inferred for traits that the attacker did not know, "
             "beside their prevalence"),
        )  # fmt: skip

    def sentences(self) -> tuple[str, ...]:
        """Return the strongest result of each release and method, with a verdict last."""
        found = []
        for release, method in dict.fromkeys((row.release, row.method) for row in self.rows):
            rows = [row for row in self.rows if (row.release, row.method) == (release, method)]
            best = max(rows, key=lambda row: row.mean)
            found.append(
                f"{release}, {method.replace('_', ' ')}: with {best.known} known "
                f"trait{'s' * (best.known != 1)} the true record gets a mean probability of "
                f"{best.mean:.3f} ± {best.margin:.3f} and is the likeliest one in "
                f"{100 * best.first:.1f} % of cases; guessing has {best.guess:.4f}."
            )
        return (*found, self.verdict())

    def verdict(self) -> str:
        """Return what a study group may conclude."""
        worst = max(self.rows, key=lambda row: row.mean - row.margin)
        if worst.mean - worst.margin <= worst.guess * (1 + 1e-9):
            return (
                "Verdict: this attack does no better than guessing here. It is one attack, with "
                "these traits; it does not rule out others."
            )
        return (
            f"Verdict: removing names does not make genotypes anonymous. With {worst.known} known "
            f"trait{'s' * (worst.known != 1)} the true record gets {worst.mean / worst.guess:.1f} "
            "times the probability of a guess. Do not share individual genotypes as anonymous data."
        )

    def meaning(self) -> tuple[str, ...]:
        """Return what the figures mean."""
        return (
            POPULATION_REMARK,
            "The likelihood ratio divides the probability of a record given the known traits by "
            "its probability in the population. The published weight omits the denominator and "
            "so gives too much credit to common genotypes.",
            "Noise in the statistics of small studies blunts the attack. For studies of many "
            "hundred people it hardly does, because their frequencies remain accurate.",
        )

    def draw(self, figure: Any) -> None:
        """Draw the probability of the true record against the number of known traits."""
        axis = figure.subplots()
        shades = (ACCENT, INK, *SHADES[::-1][1:4])
        groups = dict.fromkeys((row.release, row.method) for row in self.rows)
        for place, (release, method) in enumerate(groups):
            rows = [row for row in self.rows if (row.release, row.method) == (release, method)]
            axis.errorbar(
                [row.known for row in rows], [row.mean for row in rows],
                yerr=[row.margin for row in rows], color=shades[place % len(shades)],
                marker="o", markersize=3, linewidth=1.2, capsize=2,
                linestyle="-" if method == METHODS[0] else "--",
                label=f"{release}, {method.replace('_', ' ')}",
            )  # fmt: skip
        axis.axhline(self.rows[0].guess, color=SOFT, linewidth=0.8, linestyle=":")
        axis.set_xlabel("traits known")
        axis.set_xticks(sorted({row.known for row in self.rows}))
        axis.set_ylabel("probability of the true record")
        axis.set_ylim(0, 1)
        axis.legend(loc="upper left", frameon=False, fontsize=7)


@dataclass(frozen=True)
class _Trial:
    """Records, the row of the target and the traits that it has."""

    states: States
    target: int
    traits: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IdentityInference:
    """Find the record of a person with known traits.

    Parameters
    ----------
    method
        `"likelihood_ratio"`: the probability of a record given the traits over that in the
        population, which gives the posterior probability of each record; `"likelihood"`: the
        numerator alone, as published.
    population
        The source of the denominator: `"records"`, the table itself with one half added to each
        count; `"model"`, the network with every trait at its prevalence; or the probability of the
        counted allele by site.
    sizes
        The numbers of known traits that are tried; by default all.
    most_sets
        The number of sets of known traits that are tried for each target and number of traits; if
        there are more, a random choice of them.

    Notes
    -----
    Privacy: none. What comes out is for the custodian's eyes and must not be published.
    """

    method: str = "likelihood_ratio"
    population: str | Mapping[str, float] = "records"
    sizes: tuple[int, ...] | None = None
    most_sets: int = 32

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}; got {self.method!r}")
        if isinstance(self.population, str) and self.population not in ("records", "model"):
            raise ValueError(
                'population must be "records", "model" or frequencies by site; got '
                f"{self.population!r}"
            )
        if self.sizes is not None and (not self.sizes or min(self.sizes) < 1):
            raise ValueError(f"sizes must be positive numbers of traits; got {self.sizes}")
        if self.most_sets < 1:
            raise ValueError(f"most_sets must be at least 1; got {self.most_sets}")

    def posterior(self, network: TraitNetwork, calls: Any, known: Sequence[str]) -> Floats:
        """Return the probability of each record to be the target's. Not private.

        Parameters
        ----------
        network
            The model.
        calls
            The records: `Calls`, or what `Calls.of` accepts.
        known
            The traits that the target is known to have.
        """
        states = network.states(calls)
        return _normalise(self._log_weights(network, states, known, self._log_population(
            network, states)))  # fmt: skip

    def infer_trait(
        self, network: TraitNetwork, calls: Any, known: Sequence[str], trait: str
    ) -> float:
        """Return the probability that the target has a further trait. Not private.

        Parameters
        ----------
        network, calls, known
            As for `posterior`.
        trait
            The trait.
        """
        place = network.trait_place(trait)
        chances = network.posterior(network.states(calls))[:, place]
        return float(self.posterior(network, calls, known) @ chances)

    def run(
        self,
        networks: TraitNetwork | Mapping[str, Model],
        calls: Any,
        truth: Mapping[str, ArrayLike],
    ) -> IdentityOutcome:
        """Try the attack on every person of a table who has a trait. Not private.

        Parameters
        ----------
        networks
            The models, by a label such as `"published"` or `"ε = 1"`. A function is called once.
        calls
            The records.
        truth
            Who has which trait: 0 or 1 for each record.
        """
        models = _models(networks)
        first = _make(next(iter(models.values())))
        states = first.states(calls)
        held = np.zeros((len(states), len(first.traits)), dtype=np.bool_)
        for trait, column in truth.items():
            values = np.asarray(column)
            if values.shape != (len(states),) or not np.isin(values, (0, 1)).all():
                raise ValueError(f"the truth about {trait!r} must be 0 or 1 for each record")
            held[:, first.trait_place(trait)] = values.astype(np.bool_)
        targets = np.flatnonzero(held.any(axis=1))
        if not len(targets):
            raise ValueError("no record has one of the traits of the network")
        trials = [
            _Trial(states, int(row), tuple(np.array(first.traits, dtype=object)[held[row]]))
            for row in targets
        ]
        rows = self._try_all(models, trials, fresh=False)
        return IdentityOutcome(rows, simulated=False, model=first.words())

    def simulate(
        self,
        networks: TraitNetwork | Mapping[str, Model],
        records: Any,
        *,
        runs: int = 1000,
        generator: np.random.Generator | None = None,
    ) -> IdentityOutcome:
        """Try the attack on targets with all traits, drawn from the first model. Not private.

        Parameters
        ----------
        networks
            As for `run`, but a function is called for every target, say to draw fresh noise.
            Targets are drawn from the first.
        records
            The records among which a target is hidden, or a function that returns new ones for
            every run.
        runs
            The number of targets.
        generator
            Draws the targets; by default one with a fixed seed.
        """
        if runs < 1:
            raise ValueError(f"runs must be at least 1; got {runs}")
        draw = noise.generator(0) if generator is None else generator
        models = _models(networks)
        truth = _make(next(iter(models.values())))
        chances = truth.state_chances(truth.traits)
        chances = chances / chances.sum(axis=1, keepdims=True)
        fixed = None if callable(records) else truth.states(records)

        def trials() -> Iterator[_Trial]:
            for _ in range(runs):
                background = truth.states(records()) if fixed is None else fixed
                states = (draw.random((len(chances), 1)) > chances.cumsum(axis=1)).sum(axis=1)
                target = np.minimum(states, chances.shape[1] - 1).astype(np.int8)
                yield _Trial(np.vstack([background, target]), len(background), truth.traits)

        rows = self._try_all(models, trials(), fresh=True)
        return IdentityOutcome(rows, simulated=True, model=truth.words())

    def _try_all(
        self, models: Mapping[str, Model], trials: Iterable[_Trial], *, fresh: bool
    ) -> tuple[IdentityRow, ...]:
        """Return a row for each model and number of known traits."""
        found: dict[tuple[str, int], list[tuple[float, ...]]] = {}
        pick = noise.generator(1)
        records = 0
        learnt: dict[str, tuple[TraitNetwork, Floats, Floats]] = {}
        kept: dict[tuple[str, tuple[str, ...]], Floats] = {}
        for trial in trials:
            records = len(trial.states)
            sets = {
                many: _choose_sets(trial.traits, many, self.most_sets, pick)
                for many in range(1, len(trial.traits) + 1)
                if self.sizes is None or many in self.sizes
            }
            if fresh:
                # New records, and perhaps new noise: nothing of an earlier run holds.
                learnt, kept = {}, {}
            elif len(kept) * records > MOST_KEPT:
                kept = {}
            for label, model in models.items():
                if label not in learnt:
                    network = _make(model)
                    population = self._log_population(network, trial.states)
                    learnt[label] = network, population, network.posterior(trial.states)
                network, population, traits = learnt[label]
                for many, choices in sets.items():
                    figures = []
                    for known in choices:
                        if (label, known) not in kept:
                            weights = self._log_weights(network, trial.states, known, population)
                            kept[label, known] = _normalise(weights)
                        posterior = kept[label, known]
                        figures.append(_figures(network, traits, posterior, trial, known))
                    found.setdefault((label, many), []).append(_mean(figures))
        if not found:
            raise ValueError(f"no target has as many traits as sizes asks for; got {self.sizes}")
        return tuple(
            self._row(label, many, np.array(figures, dtype=np.float64), records)
            for (label, many), figures in sorted(
                found.items(), key=lambda item: (list(models).index(item[0][0]), item[0][1])
            )
        )

    def _row(self, release: str, known: int, figures: Floats, records: int) -> IdentityRow:
        """Return the row of a release and a number of known traits from the figures of targets."""
        seen = ~np.isnan(figures[:, 3])
        further = figures[seen].mean(axis=0) if seen.any() else None
        return IdentityRow(
            release=release,
            method=self.method,
            known=known,
            mean=float(figures[:, 0].mean()),
            deviation=float(figures[:, 0].std()),
            first=float(figures[:, 1].mean()),
            rank=float(figures[:, 2].mean()),
            new_trait=None if further is None else float(further[3]),
            new_trait_guess=None if further is None else float(further[4]),
            records=records,
            targets=len(figures),
        )

    def _log_weights(
        self, network: TraitNetwork, states: States, known: Sequence[str], log_population: Floats
    ) -> Floats:
        """Return the log weight of each record; only sites with a known trait count."""
        used = np.flatnonzero(network.involved(known))
        chances = np.log(network.state_chances(known, used.tolist()))
        if self.method == "likelihood_ratio":
            chances = chances - log_population[used]
        columns = states[:, used]
        values = chances[np.arange(len(used)), np.maximum(columns, 0)]
        return np.asarray(np.where(columns == MISSING, 0.0, values).sum(axis=1))

    def _log_population(self, network: TraitNetwork, states: States) -> Floats:
        """Return the log probability of each state of each site in the population."""
        if self.method == "likelihood":
            return np.zeros((len(network.sites), 1))
        if self.population == "model":
            return np.log(network.state_chances())
        if not isinstance(self.population, str):
            given = {split_name(name): share for name, share in self.population.items()}
            shares = []
            for site in network.sites:
                share = given.get((site.name, site.allele), given.get((site.name, None)))
                if share is None:
                    raise ValueError(f"population has no frequency of {site.name}-{site.allele}")
                shares.append(share)
            return np.log(np.maximum(state_probabilities(shares, network.coding), 1e-300))
        many = 3 if network.coding == "dosage" else 2
        counts = np.stack([(states == state).sum(axis=0) for state in range(many)], axis=1) + 0.5
        return np.asarray(np.log(counts / counts.sum(axis=1, keepdims=True)))


def _models(networks: TraitNetwork | Mapping[str, Model]) -> dict[str, Model]:
    """Return models by their labels."""
    return {"published": networks} if isinstance(networks, TraitNetwork) else dict(networks)


def _make(model: Model) -> TraitNetwork:
    """Return a model, made anew if it is a function."""
    return model if isinstance(model, TraitNetwork) else model()


def _normalise(logs: Floats) -> Floats:
    """Return weights that sum to 1."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _choose_sets(
    traits: tuple[str, ...], many: int, most: int, pick: np.random.Generator
) -> list[tuple[str, ...]]:
    """Return all sets of so many traits, or a random choice of them if there are too many."""
    if comb(len(traits), many) <= most:
        return list(combinations(traits, many))
    chosen = [np.sort(pick.permutation(len(traits))[:many]) for _ in range(most)]
    return [tuple(traits[place] for place in places) for places in chosen]


def _figures(
    network: TraitNetwork, traits: Floats, posterior: Floats, trial: _Trial, known: tuple[str, ...]
) -> tuple[float, ...]:
    """Return how well one set of known traits finds the target, and what else it reveals."""
    own = posterior[trial.target]
    ties = int((posterior == own).sum())
    above = int((posterior > own).sum())
    further = [network.trait_place(trait) for trait in trial.traits if trait not in known]
    new = guess = float("nan")
    if further:
        new = float((posterior @ traits[:, further]).mean())
        guess = float(np.mean([network.prevalence[place] for place in further]))
    first = 1 / ties if not above else 0.0
    return float(own), first, above + (ties + 1) / 2, new, guess


def _mean(figures: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the mean over the sets of known traits of one target."""
    return tuple(np.mean(figures, axis=0).tolist())


def _optional(share: float | None) -> str:
    """Return a share, or nothing."""
    return "" if share is None else f"{share:.4f}"
