"""An audit as `sf.audit` and `sfumato audit` run it: every pair replayed and sampled, one verdict.

It is run on synthetic neighbours and reads no private data: of data that are given, only the public
part is used. It can refute a promise and never prove one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.audit.neighbours import Pair, canonical_pairs
from sfumato.audit.replaying import ReplayFindings, examine
from sfumato.audit.sampling import AuditResult, check_effort, sample_loss
from sfumato.privacy.arguments import find_public
from sfumato.privacy.loss import Loss
from sfumato.privacy.method import InteractiveMethod, Method

if TYPE_CHECKING:
    from sfumato.audit.events import Event

__all__ = ["TRIALS", "Audit", "PairAudit", "audit", "audit_pairs", "choose_pairs"]

#: How many outputs are drawn on each data set unless another number is given.
TRIALS = 20_000


@dataclass(frozen=True)
class PairAudit:
    """What was found on one pair.

    Parameters
    ----------
    replayed
        What replay found; `None` for a function, which has no transcript.
    sampled
        What samples show.
    """

    replayed: ReplayFindings | None
    sampled: AuditResult

    @property
    def refuted(self) -> bool:
        """Whether replay found a fault, or samples a larger loss than is promised."""
        return self.sampled.refuted or (self.replayed is not None and not self.replayed.passed)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document; an infinite loss is told as null."""
        replayed = None
        if self.replayed is not None:
            largest = self.replayed.largest
            replayed = {
                "claimed": self.replayed.claimed.to_json(),
                "largest": largest if math.isfinite(largest) else None,
                "faults": list(self.replayed.faults),
            }
        sampled = self.sampled.to_json()
        pair = {"pair": sampled.pop("pair"), "refuted": self.refuted}
        return {**pair, "replayed": replayed, "sampled": sampled}


@dataclass(frozen=True)
class Audit:
    """What an audit found on all pairs together.

    Parameters
    ----------
    method
        What was audited: a method, or a function of data.
    public
        The public part of the data; `None` for a function.
    pairs
        What was found on each pair.
    trials
        How many outputs were drawn on each data set.
    confidence
        The probability, at least, with which a refutation by samples is right.
    """

    method: Any
    public: Any
    pairs: tuple[PairAudit, ...]
    trials: int
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether any pair refutes the promise."""
        return any(pair.refuted for pair in self.pairs)

    @property
    def faults(self) -> list[tuple[str, str]]:
        """What replay found wrong, each with the name of its pair."""
        return [
            (pair.replayed.pair, text)
            for pair in self.pairs
            if pair.replayed is not None
            for text in pair.replayed.faults
        ]

    @property
    def telling(self) -> PairAudit:
        """The pair whose samples exceed the promise most, or come closest to it."""
        return max(self.pairs, key=lambda pair: (pair.sampled.excess, pair.sampled.bound))

    @property
    def bound(self) -> float:
        """The largest ε shown by samples, on the pair that shows most; it may be negative."""
        return self.telling.sampled.bound

    @property
    def largest(self) -> float:
        """The largest loss shown by samples; a loss is never negative."""
        return max(0.0, *(pair.sampled.bound for pair in self.pairs))

    @property
    def event(self) -> Event:
        """The set of outputs that shows it."""
        return self.telling.sampled.event

    @property
    def p(self) -> float:
        """A lower bound on the probability of the event on one data set of the pair."""
        return self.telling.sampled.p

    @property
    def q(self) -> float:
        """An upper bound on its probability on the other."""
        return self.telling.sampled.q

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """The ε that the event shows at each of several δ."""
        return self.telling.sampled.curve

    def __str__(self) -> str:
        return self.words()

    def words(self) -> str:
        """Return what the audit showed, in plain words."""
        sampled, percent = self.telling.sampled, f"{100 * self.confidence:.6g} %"
        said = []
        if sampled.refuted:
            delta, shown = sampled.worst
            where = f" at δ = {delta:g}" if delta else ""
            said.append(
                f"REFUTED at {percent}: {sampled.claimed} is promised, and a loss of "
                f"{shown:.4g}{where} is shown on the pair '{sampled.pair}'"
            )
        if self.faults:
            pair, text = self.faults[0]
            more = f" ({len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
            said.append(f"REFUTED by replay on the pair '{pair}': {text}{more}")
        return "\n".join(said) or (
            f"not refuted at {percent}: the data are consistent with {sampled.claimed}; "
            f"the largest loss shown is {self.largest:.2f}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        told: dict[str, Any] = {"claimed": self.telling.sampled.claimed.to_json()}
        if isinstance(self.method, Method):
            told |= {"method": self.method.name, "parameters": self.method.parameters()}
        if self.public is not None:
            told |= {
                "unit": str(self.public.unit),
                "contribution": self.public.contribution,
                "relation": str(self.public.relation),
            }
        return {
            **told,
            "trials": self.trials,
            "confidence": self.confidence,
            "pairs": [pair.to_json() for pair in self.pairs],
            "refuted": self.refuted,
            "largest": self.largest,
            "words": self.words(),
        }


def audit(
    method: Method[Any, Any] | Callable[[Any], Any],
    data: Any = None,
    *,
    trials: int = TRIALS,
    confidence: float = 0.999,
    claimed: Loss | None = None,
    questions: Sequence[Any] | None = None,
    seed: int | None = None,
    picture: str | Path | None = None,
) -> Audit:
    """Try to refute a privacy guarantee on neighbouring data sets, as `sfumato audit` does.

    Parameters
    ----------
    method
        A method, or any function from data to numbers, words, arrays or collections of them.
    data
        A schema, a public part, or data of which only the public part is used: the canonical
        neighbours for it are tried. Or the neighbours themselves: a `Pair`, a tuple of two data
        sets, or a list of pairs. They are not protected, so use synthetic data. By default the
        small example that the method declares.
    trials
        The number of outputs drawn per data set of a pair.
    confidence
        The confidence of a refutation by samples, over all pairs together.
    claimed
        The claimed privacy loss; by default that of the method.
    questions
        What an interactive method is asked; by default questions that canonical pairs change.
    seed
        A seed that makes the audit repeatable; fresh bits otherwise.
    picture
        A file for a picture of the pair with the largest measured loss, as .svg or .png.

    Notes
    -----
    A method is replayed on every pair, which is exact given the log-probabilities of its
    primitives, and sampled, which trusts nothing but outputs. A function is only sampled.
    """
    if picture is not None:
        from sfumato.audit.picture import check_picture

        check_picture(picture)
    pairs = choose_pairs(method, data)
    public = pairs[0].here.public if isinstance(method, Method) else None
    if questions is None and isinstance(method, InteractiveMethod):
        questions = method.example_questions(public)
    found = audit_pairs(
        method,
        pairs,
        trials=trials,
        confidence=confidence,
        claimed=claimed,
        questions=questions,
        seed=seed,
    )
    outcome = Audit(method, public, tuple(found), trials, confidence)
    if picture is not None:
        from sfumato.audit.picture import save_picture

        save_picture(outcome, picture)
    return outcome


def choose_pairs(method: Any, data: Any) -> list[Pair]:
    """Return the neighbours that were given, or the canonical ones for what is public."""
    if isinstance(data, Pair):
        return [data]
    if isinstance(data, tuple) and len(data) == 2 and not isinstance(data[0], Pair):
        return [Pair("the given pair", *data)]
    if isinstance(data, list | tuple) and data and all(isinstance(pair, Pair) for pair in data):
        return list(data)
    if not isinstance(method, Method):
        raise TypeError("a function is audited on two neighbouring data sets: write (data, other)")
    if data is None:
        # A local method declares what it asks for itself.
        data = getattr(method, "public", None) or method.example_public()
    return canonical_pairs(find_public(data, kind=method.kind, verb="audit"))


def audit_pairs(
    method: Any,
    pairs: Sequence[Pair],
    *,
    trials: int,
    confidence: float,
    claimed: Loss | None = None,
    questions: Sequence[Any] | None = None,
    seed: int | None = None,
) -> Iterator[PairAudit]:
    """Replay and sample each pair when it is asked for, so that a caller can tell of progress.

    The pairs share the risk, so that one false refutation among all is as unlikely as is said.
    """
    check_effort(trials, confidence)
    each = 1 - (1 - confidence) / len(pairs)
    replays = isinstance(method, Method)
    for number, pair in enumerate(pairs):
        yield PairAudit(
            examine(method, pair, questions=questions) if replays else None,
            sample_loss(
                method,
                pair,
                trials=trials,
                claimed=claimed,
                confidence=each,
                questions=questions,
                # Another stream for every pair: equal noise would make equal samples.
                seed=None if seed is None else 1000 * seed + number,
            ),
        )
