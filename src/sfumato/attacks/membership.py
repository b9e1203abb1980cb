"""Membership inference: was a person in the group whose allele frequencies were released?

NOT PRIVATE. The custodian tries the attack on real people; the outcome is for the custodian's eyes.
It is never part of a release, a certificate or its report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import tanh
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.detection import ALARMS, Detection
from sfumato.attacks.genomic_outcome import GenomicOutcome
from sfumato.attacks.group_frequencies import GroupFrequencies, align
from sfumato.genomics.calls import Calls
from sfumato.genomics.codings import MISSING
from sfumato.sections import Grid
from sfumato.sections.drawing import ACCENT, FILL, INK, SHADES, SOFT

__all__ = ["STATISTICS", "MembershipInference", "MembershipOutcome", "MembershipRow"]

Floats = NDArray[np.float64]
STATISTICS = ("likelihood_ratio", "homer")
#: Numbers of calls that are scored at once.
BLOCK = 2**22


@dataclass(frozen=True)
class MembershipRow:
    """How well one statistic finds the members of a group in one release. Not private.

    Parameters
    ----------
    release
        What was released, such as `"exact"` or `"ε = 1"`.
    statistic
        `"likelihood_ratio"` or `"homer"`.
    sites
        The number of sites that were used.
    epsilon
        The privacy loss of the release; `None` without a guarantee.
    detection
        How well it finds them.
    """

    release: str
    statistic: str
    sites: int
    epsilon: float | None
    detection: Detection

    @property
    def bound(self) -> float:
        """The largest advantage that any attack can have: tanh(ε/2), or 1 without a guarantee."""
        return 1.0 if self.epsilon is None else tanh(self.epsilon / 2)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "release": self.release,
            "statistic": self.statistic,
            "sites": self.sites,
            "epsilon": self.epsilon,
            "bound": self.bound,
            **self.detection.to_json(),
        }


@dataclass(frozen=True)
class MembershipOutcome(GenomicOutcome):
    """How well members are found in released frequencies, beside guessing. Not private.

    Parameters
    ----------
    rows
        One for each release and statistic.
    """

    rows: tuple[MembershipRow, ...]
    attack: ClassVar[str] = "membership"
    title: ClassVar[str] = "Who took part in the study? Membership inference on frequencies"
    caption: ClassVar[str] = (
        "The share of members found against the share of others accused, for each release. The "
        "dotted diagonal is guessing."
    )

    def __getitem__(self, key: tuple[str, str]) -> MembershipRow:
        """Return the row of a release and a statistic."""
        return next(row for row in self.rows if (row.release, row.statistic) == key)

    def figures(self) -> dict[str, Any]:
        """Return the rows as plain documents."""
        return {"rows": [row.to_json() for row in self.rows]}

    def grid(self) -> Grid:
        """Return one line per release and statistic, after a line for guessing."""
        head = ("release", "statistic", "area", "±", "advantage", "±",
                *(f"found at {alarm:.0%} false" for alarm in ALARMS), "bound")  # fmt: skip
        guess = ("none", "guessing", "0.500", "", "0.0 %", "",
                 *(f"{100 * alarm:.1f} %" for alarm in ALARMS), "")  # fmt: skip
        lines = [
            (
                row.release,
                row.statistic.replace("_", " "),
                f"{row.detection.area:.3f}",
                f"{row.detection.area_margin:.3f}",
                f"{100 * row.detection.advantage:.1f} %",
                f"{100 * row.detection.advantage_margin:.1f}",
                *(f"{100 * share:.1f} %" for share in row.detection.found),
                f"{100 * row.bound:.1f} %" if row.epsilon is not None else "none",
            )
            for row in self.rows
        ]
        return Grid(head, (guess, *lines), numbers=tuple(range(2, len(head))))

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return who was attacked with what."""
        first = self.rows[0]
        return (
            ("the attacker has", "the released frequencies, frequencies of a reference sample and "
             "the genotype of the person"),
            ("members tried", f"{first.detection.members:,}"),
            ("other people tried", f"{first.detection.others:,}"),
            ("sites used", f"{first.sites:,}"),
            ("area", "the probability that a member has a higher score than another person; "
             "guessing has 0.5"),
            ("advantage", "members found minus others accused, at a threshold chosen on other "
             "people; guessing has 0"),
            ("bound", "the largest advantage of any attack under the privacy guarantee"),
        )  # fmt: skip

    def sentences(self) -> tuple[str, ...]:
        """Return what was found, with a verdict last."""
        return (*(_row_words(row) for row in self.rows), self.verdict())

    def verdict(self) -> str:
        """Return what a study group may conclude."""
        exact = [row for row in self.rows if row.epsilon is None]
        private = [row for row in self.rows if row.epsilon is not None]
        found = [row for row in exact if row.detection.beats_guessing]
        if not found:
            first = (
                "Verdict: this attack does not find members in these frequencies. It is one "
                "attack; it does not rule out others."
                if exact
                else "Verdict:"
            )
        else:
            best = max(found, key=lambda row: row.detection.area)
            first = (
                f"Verdict: frequencies without a guarantee reveal who took part (area "
                f"{best.detection.area:.3f}). Do not publish them for these sites."
            )
        if not private:
            return first
        leaky = [row for row in private if row.detection.beats_guessing]
        if leaky:
            worst = max(leaky, key=lambda row: row.detection.area)
            second = f"With noise ({worst.release}) the attack still does better than guessing."
        else:
            second = "With noise the attack does no better than guessing."
        return f"{first} {second} {_bound_words(private)}"

    def meaning(self) -> tuple[str, ...]:
        """Return what the figures mean."""
        return (
            "This attack concerns participants. Whether somebody took part in a study of a disease "
            "reveals that the person has the disease, if the frequencies are those of cases.",
            "Differential privacy bounds every attack of this kind: with privacy loss ε, members "
            "found minus others accused is at most tanh(ε/2), whatever the attacker knows.",
            "More sites and smaller groups help the attacker. The result here is for these sites, "
            "this group and this reference sample.",
        )

    def draw(self, figure: Any) -> None:
        """Draw the curves."""
        axis = figure.subplots()
        shades = (ACCENT, INK, *SHADES[::-1][1:4], FILL)
        for place, row in enumerate(self.rows):
            label = f"{row.release}, {row.statistic.replace('_', ' ')} ({row.detection.area:.3f})"
            axis.plot(100 * row.detection.false, 100 * row.detection.true,
                      color=shades[place % len(shades)], linewidth=1.3, label=label,
                      linestyle="-" if row.statistic == STATISTICS[0] else "--")  # fmt: skip
        axis.plot([0, 100], [0, 100], color=SOFT, linewidth=0.8, linestyle=":")
        axis.set_xlabel("others accused, %")
        axis.set_ylabel("members found, %")
        axis.set_xlim(0, 100)
        axis.set_ylim(0, 101)
        axis.legend(loc="lower right", frameon=False, fontsize=7)


@dataclass(frozen=True, kw_only=True)
class MembershipInference:
    """Find out from released allele frequencies who was in the group.

    Parameters
    ----------
    statistics
        `"likelihood_ratio"`, the probability of the genotype under the frequencies of the group
        over that under the reference (Sankararaman and others, 2009), with noisy frequencies drawn
        towards the reference as far as the noise demands; `"homer"`, the distance to the reference
        minus the distance to the group (Homer and others, 2008).

    Notes
    -----
    Privacy: none. What comes out is for the custodian's eyes and must not be published.
    """

    statistics: tuple[str, ...] = STATISTICS

    def __post_init__(self) -> None:
        for name in self.statistics:
            if name not in STATISTICS:
                raise ValueError(f"statistics must be among {', '.join(STATISTICS)}; got {name!r}")

    def run(
        self,
        members: Calls,
        others: Calls,
        releases: Mapping[str, GroupFrequencies],
        reference: GroupFrequencies,
    ) -> MembershipOutcome:
        """Try the attack on members of the group and on other people. Not private.

        Parameters
        ----------
        members, others
            Calls of people in the group, and of people of the same population who are neither in
            the group nor in the reference.
        releases
            Frequencies of the group, by a label such as `"exact"` or `"ε = 1"`.
        reference
            Frequencies of the population.
        """
        rows = []
        for label, release in releases.items():
            for name in self.statistics:
                inside, outside = (
                    membership_scores(calls, release, reference, statistic=name)
                    for calls in (members, others)
                )
                sites = _common(members, release, reference)
                found = Detection.of(inside, outside)
                rows.append(MembershipRow(label, name, sites, release.epsilon, found))
        return MembershipOutcome(tuple(rows))


def membership_scores(
    calls: Calls,
    release: GroupFrequencies,
    reference: GroupFrequencies,
    *,
    statistic: str = "likelihood_ratio",
) -> Floats:
    """Return the score of each person; a higher one speaks for membership. Not private.

    Parameters
    ----------
    calls
        The calls of people.
    release
        The released frequencies of the group.
    reference
        The frequencies of the population.
    statistic
        `"likelihood_ratio"` or `"homer"`.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"statistic must be one of {', '.join(STATISTICS)}; got {statistic!r}")
    if calls.bits:
        raise ValueError("membership inference needs counts of alleles; the calls are bits")
    counts, shares = align(calls, {"release": release, "reference": reference})
    score = _homer if statistic == "homer" else _likelihood_ratio
    block = max(1, BLOCK // counts.shape[1])
    parts = [
        score(counts[first : first + block], shares["release"], shares["reference"], release,
              reference)
        for first in range(0, len(counts), block)
    ]  # fmt: skip
    return np.concatenate(parts) if parts else np.zeros(0)


def _homer(
    counts: NDArray[np.int8],
    group: Floats,
    population: Floats,
    release: GroupFrequencies,
    reference: GroupFrequencies,
) -> Floats:
    """Return Homer's statistic: the mean difference of distances over its standard error."""
    half = counts / 2
    distance = np.abs(half - population) - np.abs(half - np.clip(group, 0, 1))
    seen = counts != MISSING
    many = np.maximum(seen.sum(axis=1), 1)
    distance[~seen] = 0
    mean = distance.sum(axis=1) / many
    spread = np.where(seen, (distance - mean[:, None]) ** 2, 0).sum(axis=1) / many
    return np.asarray(mean / np.sqrt(np.maximum(spread, 1e-300) / many))


def _likelihood_ratio(
    counts: NDArray[np.int8],
    group: Floats,
    population: Floats,
    release: GroupFrequencies,
    reference: GroupFrequencies,
) -> Floats:
    """Return the log likelihood ratio of each genotype: drawn from the group or the population."""
    # One half added to each allele count keeps both frequencies off 0 and 1.
    smooth = (2 * reference.people * population + 0.5) / (2 * reference.people + 1)
    sampling = smooth * (1 - smooth) / (2 * release.people)
    # The best linear estimate of the group's frequency from its noisy one.
    weight = sampling / (sampling + release.noise**2)
    estimate = smooth + weight * (group - smooth)
    edge = 0.5 / (2 * release.people + 1)
    estimate = np.clip(estimate, edge, 1 - edge)
    present = np.log(estimate) - np.log(smooth)
    absent = np.log1p(-estimate) - np.log1p(-smooth)
    seen = counts != MISSING
    copies = np.where(seen, counts, 0)
    return np.asarray(copies @ (present - absent) + 2 * (seen @ absent))


def _common(calls: Calls, release: GroupFrequencies, reference: GroupFrequencies) -> int:
    """Return the number of sites that calls, release and reference share."""
    nobody = calls.keep(slice(0, 0))
    return len(align(nobody, {"release": release, "reference": reference})[1]["release"])


def _row_words(row: MembershipRow) -> str:
    """Return one line of the table as a sentence."""
    found = row.detection
    better = "better than guessing" if found.beats_guessing else "no better than guessing"
    return (
        f"{row.release}, {row.statistic.replace('_', ' ')}: area {found.area:.3f} ± "
        f"{found.area_margin:.3f}, {better}; {100 * found.found[0]:.1f} % of the members are found "
        f"if {100 * ALARMS[0]:.0f} % of other people are accused."
    )


def _bound_words(rows: list[MembershipRow]) -> str:
    """Return what the guarantee of the release with the largest ε excludes."""
    weakest = max(rows, key=lambda row: row.bound)
    if weakest.bound > 0.999:
        return f"The guarantee at ε = {weakest.epsilon:g} excludes no attack."
    return (
        f"No attack on these releases can have an advantage above {100 * weakest.bound:.1f} % "
        f"(ε = {weakest.epsilon:g})."
    )
