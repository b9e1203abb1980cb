"""A sampled audit: a lower confidence bound on the privacy loss between two data sets.

It trusts nothing but samples: not the proof, not the log-probabilities, not the declared
sensitivities. A bound above the promise refutes the promise at the stated confidence; a bound below
it shows nothing more than that these samples are consistent with the promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import noise
from sfumato.audit.events import Event, best_thresholds, loss_shown, lower, upper
from sfumato.audit.features import Encoder, Flat, column_gaps, flatten
from sfumato.audit.neighbours import Pair
from sfumato.audit.replaying import fresh
from sfumato.privacy.loss import ApproxDP, Joint, Loss, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.progress import track
from sfumato.privacy.record import Diverged, Recording, record, replay

Floats = NDArray[np.float64]
Mechanism = Callable[[Any], Any]

#: δs at which the curve is told.
CURVE = (0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 2e-1)
#: This many transcripts are replayed on their own data, to see that a method has no randomness.
OWN_REPLAYS = 20
#: The score of an output that the other data set cannot say.
IMPOSSIBLE = 1e6
#: Single features are tried as scores of their own; these many, the most telling ones.
MOST_FEATURES = 8


@dataclass(frozen=True)
class AuditResult:
    """What a sampled audit showed.

    Parameters
    ----------
    pair
        The pair's name.
    claimed
        What is promised.
    bound
        The largest ε shown, at the promise's δ, with the stated confidence.
    confidence
        The probability, at least, with which the bound is right.
    trials
        How many outputs were drawn on each data set.
    event
        The set of outputs that shows it.
    p, q
        Bounds on its probability on the first and the second data set.
    curve
        The ε shown at each of several δ by the same event.
    scores
        The event's score on test outputs of either data set, for a picture.
    turned
        Whether the event is likelier on the second data set; `p` is then its probability there.
    also
        What is promised besides, such as the ρ of Gaussian noise; every statement is tried.
    """

    pair: str
    claimed: Loss
    bound: float
    confidence: float
    trials: int
    event: Event
    p: float
    q: float
    curve: tuple[tuple[float, float], ...]
    scores: tuple[Floats, Floats]
    turned: bool = False
    also: tuple[Loss, ...] = ()

    @property
    def claims(self) -> tuple[Loss, ...]:
        """Every statement that is promised."""
        return (self.claimed, *self.also)

    @property
    def excess(self) -> float:
        """By how much the loss shown exceeds the promise, at the δ where it does so most."""
        return max(shown - promised_epsilon(self.claims, delta) for delta, shown in self._points)

    @property
    def _points(self) -> tuple[tuple[float, float], ...]:
        """The bound at the promise's own δ, and the curve."""
        delta = float(self.claimed.delta) if isinstance(self.claimed, ApproxDP) else 0.0
        return ((delta, self.bound), *self.curve)

    @property
    def refuted(self) -> bool:
        """Whether the promise is refuted at the stated confidence."""
        return self.excess > 0

    @property
    def worst(self) -> tuple[float, float]:
        """The δ at which the loss shown exceeds the promise most, and that loss."""
        return max(
            self._points, key=lambda point: point[1] - promised_epsilon(self.claims, point[0])
        )

    def __str__(self) -> str:
        percent = f"{100 * self.confidence:.6g} %"
        if self.refuted:
            delta, shown = self.worst
            promised = promised_epsilon(self.claims, delta)
            return (
                f"REFUTED at {percent}: {self.claimed} is promised, that is a loss of at most "
                f"{promised:.4g} at δ = {delta:g}, but {shown:.4g} is shown on the pair "
                f"'{self.pair}'"
            )
        if self.bound == 0 and self.p <= self.q:
            return (
                f"not refuted at {percent}: {self.claimed} is promised, and these samples show no "
                f"difference at all (pair '{self.pair}')"
            )
        return (
            f"not refuted at {percent}: the samples are consistent with {self.claimed}; the "
            f"largest loss shown is {max(self.bound, 0.0):.2g} (pair '{self.pair}')"
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {
            "pair": self.pair,
            "claimed": self.claimed.to_json(),
            "bound": self.bound,
            "confidence": self.confidence,
            "trials": self.trials,
            "event": {"score": self.event.score, "threshold": self.event.threshold},
            "p": self.p,
            "q": self.q,
            "curve": [list(point) for point in self.curve],
            "turned": self.turned,
            "refuted": self.refuted,
        }


def promised_epsilon(claims: Sequence[Loss], delta: float) -> float:
    """Return the smallest ε that the claims together promise at a given δ."""
    promised = math.inf
    for claim in claims:
        if isinstance(claim, PureDP):
            promised = min(promised, float(claim.epsilon))
        elif isinstance(claim, ApproxDP):
            if delta >= float(claim.delta):
                promised = min(promised, float(claim.epsilon))
        elif delta > (float(claim.with_delta.delta) if isinstance(claim, Joint) else 0):
            promised = min(promised, float(claim.approximate(repr(delta)).epsilon))
    return promised


def check_effort(trials: int, confidence: float) -> None:
    """Raise `ValueError` unless an audit of so many outputs, so sure, can be made."""
    if trials < 100:
        raise ValueError(f"trials must be at least 100; got {trials}")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be at least 0.5 and less than 1; got {confidence}")


def sample_loss(
    mechanism: Method[Any, Any] | Mechanism,
    pair: Pair | tuple[Any, Any],
    *,
    trials: int,
    claimed: Loss | None = None,
    confidence: float = 0.999,
    questions: Sequence[Any] | None = None,
    seed: int | None = None,
) -> AuditResult:
    """Return a lower confidence bound on the loss between the outputs on two data sets.

    Parameters
    ----------
    mechanism
        A method, or any function from data to numbers, words, arrays or collections of them.
    pair
        The two data sets, as a `Pair` or a tuple.
    trials
        How many outputs to draw on each.
    claimed
        What is promised; a method's own promise by default.
    confidence
        The probability with which the bound must be right.
    questions
        What an interactive method is asked.
    seed
        A seed, for an audit that can be repeated; fresh bits otherwise.

    Notes
    -----
    Outputs on both data sets are split in three. On the first quarters scores are learned (a
    classifier, the most telling features; for a method the exact loss of its transcript is a score
    that needs no learning), on the second quarters the event is chosen, and on the second halves
    it is tested. A classifier judged by the outputs it learned from would win the choice and lose
    the test.
    """
    if not isinstance(pair, Pair):
        pair = Pair("the given pair", *pair)
    check_effort(trials, confidence)
    also: tuple[Loss, ...] = ()
    if claimed is None:
        if not isinstance(mechanism, Method):
            raise ValueError(
                "a function does not state its privacy loss: write claimed=sf.PureDP(…)"
            )
        claimed, working = mechanism.loss(), mechanism.budget_loss(pair.here.public)
        also = () if working == claimed else (working,)
    if seed is None:
        samples = _draw(mechanism, pair, trials, questions)
    else:
        with noise.seeded(seed):
            samples = _draw(mechanism, pair, trials, questions)
    delta = float(claimed.delta) if isinstance(claimed, ApproxDP) else 0.0
    claims = (claimed, *also)
    # Two directions, two bounds each: the risk is shared by four statements.
    risk = (1 - confidence) / 4
    results = [
        _test(scores, pair.name, claims, confidence, trials, risk, delta, turned)
        for scores, turned in zip(_directions(samples), (False, True), strict=True)
    ]
    return max(results, key=lambda result: (result.excess, result.bound))


class NotReproducible(ValueError):
    """A method asked something else on the very same data: it draws randomness of its own."""


@dataclass(frozen=True)
class _Samples:
    """Outputs on either data set taken apart, and the exact losses of transcripts where known."""

    here: list[Flat]
    there: list[Flat]
    losses_here: Floats | None
    losses_there: Floats | None


def _draw(
    mechanism: Method[Any, Any] | Mechanism,
    pair: Pair,
    trials: int,
    questions: Sequence[Any] | None,
) -> _Samples:
    """Draw outputs on both data sets in turn, so that nothing remembered can tell them apart."""
    here: list[Flat] = []
    there: list[Flat] = []
    if not isinstance(mechanism, Method):
        for _ in track(range(trials), "drawing"):
            here.append(flatten(mechanism(pair.here)))
            there.append(flatten(mechanism(pair.there)))
        return _Samples(here, there, None, None)
    losses = np.zeros((2, trials))
    for trial in track(range(trials), "drawing"):
        for side, (one, other) in enumerate(((pair.here, pair.there), (pair.there, pair.here))):
            script = record(fresh(mechanism), one, questions=questions)
            if trial < OWN_REPLAYS:
                _own_replay(mechanism, one, script, questions)
            (here, there)[side].append(flatten(script.transcript))
            try:
                mirror = replay(fresh(mechanism), other, script, questions=questions)
                loss = script.loss_against(mirror)
            except Diverged:
                # What one data set says and the other cannot.
                loss = IMPOSSIBLE
            # The loss of the first data set against the second, wherever the output came from;
            # equal losses must stay equal, whatever their last digits are.
            losses[side, trial] = round(loss if side == 0 else -loss, 9)
    return _Samples(here, there, losses[0], losses[1])


def _own_replay(
    mechanism: Method[Any, Any], data: Any, script: Recording, questions: Sequence[Any] | None
) -> None:
    """Raise unless a method asks the same again on the same data, given the same answers."""
    try:
        replay(fresh(mechanism), data, script, questions=questions)
    except Diverged as diverged:
        raise NotReproducible(
            f"{mechanism.name} makes other measurements when it runs again on the same data: it "
            "keeps state or draws its own randomness, which a method must not do"
        ) from diverged


@dataclass(frozen=True)
class _Scores:
    """Scores on either data set, by name: of the outputs to choose by, and of those to test by."""

    choice: dict[str, tuple[Floats, Floats]]
    test: dict[str, tuple[Floats, Floats]]


def _directions(samples: _Samples) -> list[_Scores]:
    """Return the scores for both directions; in the second the data sets change places."""
    half, quarter = len(samples.here) // 2, len(samples.here) // 4
    encoder = Encoder(samples.here[:quarter], samples.there[:quarter])
    here, there = encoder.rows(samples.here), encoder.rows(samples.there)
    choice: dict[str, tuple[Floats, Floats]] = {}
    test: dict[str, tuple[Floats, Floats]] = {}

    def add(name: str, one: Floats, other: Floats) -> None:
        choice[name] = (one[quarter:half], other[quarter:half])
        test[name] = (one[half:], other[half:])

    model = Logistic(here[:quarter], there[:quarter])
    add("classifier", model.score(here), model.score(there))
    gaps = column_gaps(here[:quarter], there[:quarter])
    for column in np.argsort(-gaps)[:MOST_FEATURES]:
        add(f"feature {column}", here[:, column], there[:, column])
        add(f"feature {column}, falling", -here[:, column], -there[:, column])
    if samples.losses_here is not None and samples.losses_there is not None:
        add("exact loss of the transcript", samples.losses_here, samples.losses_there)
    turned = [
        {name: (-other, -one) for name, (one, other) in half_scores.items()}
        for half_scores in (choice, test)
    ]
    return [_Scores(choice, test), _Scores(*turned)]


def _test(
    scores: _Scores,
    pair: str,
    claims: tuple[Loss, ...],
    confidence: float,
    trials: int,
    risk: float,
    delta: float,
    turned: bool,
) -> AuditResult:
    """Choose the event on the second quarters and test it on the second halves."""
    chosen, threshold, best = "", 0.0, -math.inf
    promises = {point: promised_epsilon(claims, point) for point in {delta, *CURVE}}
    promises = {point: promised for point, promised in promises.items() if promised < math.inf}
    for name, (here, there) in scores.choice.items():
        # At the δ where it counts most: a zero-concentrated promise shows best at a large one.
        found = best_thresholds(here, there, risk=risk, deltas=tuple(promises))
        for promised, (at, shown) in zip(promises.values(), found, strict=True):
            if shown - promised > best:
                chosen, threshold, best = name, at, shown - promised
    here, there = scores.test[chosen]
    p = lower(int((here >= threshold).sum()), here.size, risk)
    q = upper(int((there >= threshold).sum()), there.size, risk)
    return AuditResult(
        pair=pair,
        claimed=claims[0],
        also=claims[1:],
        # A loss is never negative, and neither is what is shown of it.
        bound=max(loss_shown(p, q, delta), 0.0),
        turned=turned,
        confidence=confidence,
        trials=trials,
        event=Event(chosen, threshold),
        p=p,
        q=q,
        curve=tuple((point, loss_shown(p, q, point)) for point in sorted({delta, *CURVE})),
        scores=(here, there),
    )


# A classifier that tells two mechanisms' outputs apart: regularised logistic regression.
#
# As in DP-Sniper (Bichsel et al., 2021), the learned posterior orders the outputs by how much
# likelier they are here than there, and its upper tail is the event that shows the most.


#: Newton's steps; the problem is convex and small.
STEPS = 25
PENALTY = 1e-3


class Logistic:
    """Logistic regression on standardised features, their signs and their sizes.

    Parameters
    ----------
    here, there
        Features of outputs on either data set.
    """

    def __init__(self, here: Floats, there: Floats) -> None:
        both = np.concatenate([here, there])
        self.centre = np.median(both, axis=0)
        spread = np.mean(np.abs(both - self.centre), axis=0)
        self.scale = np.where(spread > 0, spread, 1.0)
        matrix = self._design(both)
        labels = np.concatenate([np.ones(len(here)), np.zeros(len(there))])
        self.weights = _fit(matrix, labels)

    def _design(self, features: Floats) -> Floats:
        standard = np.clip((features - self.centre) / self.scale, -30, 30)
        signs = np.sign(standard)
        squashed = standard / (1 + np.abs(standard))
        parts = [np.ones((len(standard), 1)), standard, squashed, signs, np.abs(squashed)]
        return np.concatenate(parts, axis=1)

    def score(self, features: Floats) -> Floats:
        """Return the log-odds that outputs were said on the first data set."""
        return np.asarray(self._design(features) @ self.weights, dtype=np.float64)


def _fit(matrix: Floats, labels: Floats) -> Floats:
    """Return the weights of penalised logistic regression, by Newton's method."""
    weights = np.zeros(matrix.shape[1])
    penalty = PENALTY * len(matrix)
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        gradient = matrix.T @ (labels - odds) - penalty * weights
        step = _solve(matrix * np.sqrt(odds * (1 - odds))[:, None], penalty, gradient)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def _solve(rows: Floats, penalty: float, gradient: Floats) -> Floats:
    """Return (AᵀA + λI)⁻¹g for the rows A.

    Of more columns than rows, as those of a large transcript are, the equations of the rows are
    solved instead: (AᵀA + λI)⁻¹ = (I − Aᵀ(AAᵀ + λI)⁻¹A)/λ.
    """
    many, columns = rows.shape
    if columns <= many:
        curvature = rows.T @ rows + penalty * np.eye(columns)
        return np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)
    inner = np.linalg.solve(rows @ rows.T + penalty * np.eye(many), rows @ gradient)
    return np.asarray((gradient - rows.T @ inner) / penalty, dtype=np.float64)
