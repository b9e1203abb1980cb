"""Trait inference: which traits does a person have, given the genotype and published associations?

NOT PRIVATE where the genotypes are those of real people. The outcome is for the custodian's eyes
and is never part of a release, a certificate or its report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.attacks.detection import Detection
from sfumato.attacks.genomic_outcome import POPULATION_REMARK, GenomicOutcome
from sfumato.genomics.codings import MISSING
from sfumato.genomics.trait_network import TraitNetwork
from sfumato.sections import Grid
from sfumato.sections.drawing import ACCENT, INK, SHADES, SOFT

__all__ = ["EVIDENCE", "TraitInference", "TraitOutcome", "TraitRow"]

Floats = NDArray[np.float64]
#: Which sites speak about a trait: all that are connected with it, or its own as published.
EVIDENCE = ("all", "own_sites")
#: Lines of a table on a page and on the screen.
MOST_LINES = 60


@dataclass(frozen=True)
class TraitRow:
    """What an attacker infers about one trait from one release. Not private.

    Parameters
    ----------
    release
        What was released, such as `"published"` or `"ε = 1"`.
    trait
        The trait.
    sites
        The number of its sites that were called for at least one person.
    prevalence
        The probability without the genotype: random guessing.
    mean
        The mean probability given the genotype. In the population of a calibrated model it equals
        the prevalence; a larger mean shows that frequencies do not fit, not that the attack works.
    doubled
        The share of people whose odds change by a factor of 2 or more, in either direction.
    bits
        The mean information about the trait that a genotype gives, in bits.
    log_loss, guessing_log_loss
        The mean logarithmic loss in bits, and that of stating the prevalence, if the truth is
        known.
    detection
        How well the probability distinguishes people with and without the trait, if it is known.
    """

    release: str
    trait: str
    sites: int
    prevalence: float
    mean: float
    doubled: float
    bits: float
    log_loss: float | None = None
    guessing_log_loss: float | None = None
    detection: Detection | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "release": self.release,
            "trait": self.trait,
            "sites": self.sites,
            "prevalence": self.prevalence,
            "mean": self.mean,
            "doubled": self.doubled,
            "bits": self.bits,
            "log_loss": self.log_loss,
            "guessing_log_loss": self.guessing_log_loss,
            "detection": None if self.detection is None else self.detection.to_json(),
        }


@dataclass(frozen=True)
class TraitOutcome(GenomicOutcome):
    """What genotypes reveal about traits, beside guessing by prevalence. Not private.

    Parameters
    ----------
    people
        The number of people who were attacked.
    rows
        One for each release and trait.
    posteriors
        The probabilities, people by traits, of each release.
    traits
        The traits, in the order of the columns of `posteriors`.
    model
        The size and the choices of the model.
    """

    people: int
    rows: tuple[TraitRow, ...]
    traits: tuple[str, ...]
    model: str
    posteriors: Mapping[str, Floats] = field(repr=False, compare=False)
    attack: ClassVar[str] = "traits"
    title: ClassVar[str] = "Which traits do people have? Trait inference from genotypes"
    caption: ClassVar[str] = (
        "The share of people and traits for which the genotype changes the odds by at least the "
        "factor on the horizontal axis, in either direction. Guessing by prevalence never changes "
        "the odds."
    )

    def __getitem__(self, key: tuple[str, str]) -> TraitRow:
        """Return the row of a release and a trait."""
        return next(row for row in self.rows if (row.release, row.trait) == key)

    def figures(self) -> dict[str, Any]:
        """Return the rows as plain documents; the probabilities of single people are left out."""
        return {
            "people": self.people,
            "model": self.model,
            "rows": [row.to_json() for row in self.rows],
        }

    def grid(self) -> Grid:
        """Return one line per trait and release."""
        known = any(row.detection is not None for row in self.rows)
        head = ("trait", "release", "sites", "guessing", "mean", "odds doubled", "bits",
                *(("area", "loss", "loss by guessing") if known else ()))  # fmt: skip
        order = {trait: place for place, trait in enumerate(self.traits)}
        rows = sorted(self.rows, key=lambda row: order[row.trait])[:MOST_LINES]
        return Grid(head, tuple(_cells(row, known) for row in rows),
                    numbers=tuple(range(2, len(head))))  # fmt: skip

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return who was attacked with what."""
        return (
            ("the attacker has", "the genotype of a person, published associations of traits with "
             "sites, and the prevalence of each trait"),
            ("people tried", f"{self.people:,}"),
            ("model", self.model),
            ("traits inferred", f"{len(self.traits):,}"),
            ("guessing", "the prevalence of the trait, which needs no genotype"),
            ("mean", "the mean probability of the trait given the genotype"),
            ("odds doubled", "people whose odds change by a factor of 2 or more"),
            ("bits", "the mean information that a genotype gives about the trait"),
        )  # fmt: skip

    def sentences(self) -> tuple[str, ...]:
        """Return the strongest inference of each release, with a verdict last."""
        found = []
        for release in dict.fromkeys(row.release for row in self.rows):
            rows = [row for row in self.rows if row.release == release]
            best = max(rows, key=lambda row: row.bits)
            change = float(np.mean([row.doubled for row in rows]))
            found.append(
                f"{release}: the genotype doubles or halves the odds of a trait for "
                f"{100 * change:.1f} % of people and traits. It says most about {best.trait}: "
                f"{best.bits:.3f} bits, with a mean probability of {best.mean:.4f} beside a "
                f"prevalence of {best.prevalence:.4f}."
            )
        return (*found, self.verdict())

    def verdict(self) -> str:
        """Return what a study group may conclude."""
        releases = list(dict.fromkeys(row.release for row in self.rows))
        total = {name: sum(row.bits for row in self.rows if row.release == name)
                 for name in releases}  # fmt: skip
        first, last = releases[0], releases[-1]
        if total[first] < 1e-9:
            return "Verdict: these genotypes say nothing about the traits of this model."
        if len(releases) == 1:
            return (
                "Verdict: whoever has a genotype learns about traits from public associations. "
                "Protect genotypes; withholding one study changes little."
            )
        return (
            f"Verdict: a genotype moves beliefs about all traits by {total[last]:.3g} bits under "
            f"{last}, and by {total[first]:.3g} bits under {first}. Noise makes these beliefs less "
            "reliable; it does not protect a person whose genotype is known."
        )

    def meaning(self) -> tuple[str, ...]:
        """Return what the figures mean."""
        return (
            POPULATION_REMARK,
            "A mean above the prevalence is a sign that the frequencies of the studies do not fit "
            "these people. Where the truth is known, area and loss measure the attack: guessing "
            "has an area of 0.5 and the loss in the last column.",
            "Noise can also increase the bits: a model built on noise is confident and wrong. "
            "Compare the losses.",
        )

    def draw(self, figure: Any) -> None:
        """Draw for how many people and traits the odds change by which factor."""
        axis = figure.subplots()
        shades = (ACCENT, INK, *SHADES[::-1][1:4])
        prior = np.array([self[next(iter(self.posteriors)), trait].prevalence
                          for trait in self.traits])  # fmt: skip
        for place, (name, posterior) in enumerate(self.posteriors.items()):
            factors = np.sort(np.exp(np.abs(_log_odds_change(posterior, prior)).ravel()))
            share = 100 * (1 - np.arange(len(factors)) / max(1, len(factors)))
            axis.step(factors, share, where="pre", color=shades[place % len(shades)],
                      linewidth=1.3, label=name)  # fmt: skip
        axis.plot([1, 1], [0, 100], color=SOFT, linewidth=0.8, linestyle=":", label="guessing")
        axis.set_xscale("log")
        axis.set_xlabel("factor by which the odds change")
        axis.set_ylabel("people and traits, %")
        axis.set_ylim(0, 101)
        axis.legend(loc="upper right", frameon=False, fontsize=7)


@dataclass(frozen=True, kw_only=True)
class TraitInference:
    """Infer the traits of people from their genotypes.

    Parameters
    ----------
    traits
        The traits that are inferred; by default all of the network.
    evidence
        `"all"`: every called site, so that one trait may explain the alleles of another;
        `"own_sites"`: the sites of the trait itself, with the prevalence of their other traits, as
        published.

    Notes
    -----
    Privacy: none. What comes out is for the custodian's eyes and must not be published.
    """

    traits: tuple[str, ...] | None = None
    evidence: str = "all"

    def __post_init__(self) -> None:
        if self.evidence not in EVIDENCE:
            raise ValueError(
                f"evidence must be one of {', '.join(EVIDENCE)}; got {self.evidence!r}"
            )

    def posterior(self, network: TraitNetwork, calls: Any) -> Floats:
        """Return the probability of each trait for each person. Not private.

        Parameters
        ----------
        network
            The model.
        calls
            `Calls`, or what `Calls.of` accepts; missing calls and sites say nothing.

        Returns
        -------
        posterior
            Array of people by traits.
        """
        return self._posterior(network, network.states(calls))

    def _posterior(self, network: TraitNetwork, states: NDArray[np.int8]) -> Floats:
        places = [network.trait_place(trait) for trait in self._names(network)]
        if self.evidence == "all":
            return network.posterior(states)[:, places]
        found = np.empty((len(states), len(places)))
        for at, place in enumerate(places):
            own = network.involved((network.traits[place],))
            found[:, at] = network.posterior(np.where(own, states, MISSING))[:, place]
        return found

    def _names(self, network: TraitNetwork) -> tuple[str, ...]:
        return network.traits if self.traits is None else self.traits

    def run(
        self,
        networks: TraitNetwork | Mapping[str, TraitNetwork],
        calls: Any,
        *,
        truth: Mapping[str, ArrayLike] | None = None,
    ) -> TraitOutcome:
        """Try the attack on people, under one or several releases. Not private.

        Parameters
        ----------
        networks
            The models, by a label such as `"published"` or `"ε = 1"`; all with the same traits.
        calls
            The calls of people.
        truth
            Who has which trait, if it is known: 0 or 1 for each person.
        """
        models = {"published": networks} if isinstance(networks, TraitNetwork) else dict(networks)
        first = next(iter(models.values()))
        names = self._names(first)
        facts = {trait: _truth(trait, column) for trait, column in (truth or {}).items()}
        for trait in facts:
            first.trait_place(trait)
        rows, posteriors, people = [], {}, 0
        for label, network in models.items():
            states = network.states(calls)
            people = len(states)
            posterior = self._posterior(network, states)
            posteriors[label] = posterior
            called = (states != MISSING).any(axis=0)
            for at, trait in enumerate(names):
                sites = int((called & network.involved((trait,))).sum())
                prior = network.prevalence[network.trait_place(trait)]
                rows.append(_row(label, trait, sites, prior, posterior[:, at], facts.get(trait)))
        return TraitOutcome(people, tuple(rows), tuple(names), first.words(), posteriors)


def _truth(trait: str, column: ArrayLike) -> NDArray[np.bool_]:
    """Return who has a trait; anything but 0 and 1 is refused."""
    values = np.asarray(column)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ValueError(f"the truth about {trait!r} must be 0 or 1 for each person")
    return values.astype(np.bool_)


def _row(
    release: str,
    trait: str,
    sites: int,
    prior: float,
    posterior: Floats,
    truth: NDArray[np.bool_] | None,
) -> TraitRow:
    """Return the figures of one trait under one release."""
    change = np.abs(_log_odds_change(posterior[:, None], np.array([prior]))[:, 0])
    loss = guess = detection = None
    if truth is not None:
        if len(truth) != len(posterior):
            raise ValueError(
                f"the truth about {trait!r} is given for {len(truth):,} people; there are calls of "
                f"{len(posterior):,}"
            )
        loss, guess = _log_loss(posterior, truth), _log_loss(np.full(len(truth), prior), truth)
        if 2 <= truth.sum() <= len(truth) - 2:
            detection = Detection.of(posterior[truth], posterior[~truth])
    return TraitRow(
        release=release,
        trait=trait,
        sites=sites,
        prevalence=prior,
        mean=float(np.mean(posterior)) if len(posterior) else prior,
        doubled=float(np.mean(change >= np.log(2))) if len(posterior) else 0.0,
        bits=float(np.mean(_divergence(posterior, prior))) if len(posterior) else 0.0,
        log_loss=loss,
        guessing_log_loss=guess,
        detection=detection,
    )


def _log_odds_change(posterior: Floats, prior: Floats) -> Floats:
    """Return by how much the log odds move; a prevalence of 0 or 1 never moves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(posterior) - np.log1p(-posterior) - np.log(prior) + np.log1p(-prior)
    # A posterior that rounds to 0 or 1 moved as far as a double can show.
    return np.asarray(np.clip(np.nan_to_num(change, nan=0.0), -745.0, 745.0))


def _divergence(posterior: Floats, prior: float) -> Floats:
    """Return the information of each posterior against the prior, in bits."""
    from scipy.special import rel_entr

    total = rel_entr(posterior, prior) + rel_entr(1 - posterior, 1 - prior)
    return np.asarray(total / np.log(2))


def _log_loss(chances: Floats, truth: NDArray[np.bool_]) -> float:
    """Return the mean logarithmic loss in bits; probabilities are kept 1e-12 off 0 and 1."""
    right = np.clip(np.where(truth, chances, 1 - chances), 1e-12, 1)
    return float(-np.mean(np.log2(right))) if len(right) else 0.0


def _cells(row: TraitRow, known: bool) -> tuple[str, ...]:
    """Return a line of the table."""
    cells = (row.trait, row.release, f"{row.sites:,}", f"{row.prevalence:.4g}", f"{row.mean:.4g}",
             f"{100 * row.doubled:.1f} %", f"{row.bits:.4f}")  # fmt: skip
    if not known:
        return cells
    if row.log_loss is None or row.guessing_log_loss is None:
        return (*cells, "", "", "")
    area = "" if row.detection is None else f"{row.detection.area:.3f}"
    return (*cells, area, f"{row.log_loss:.4f}", f"{row.guessing_log_loss:.4f}")
