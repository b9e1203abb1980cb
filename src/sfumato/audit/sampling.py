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
from sfumato.audit.classifier import Logistic
from sfumato.audit.events import Event, best_threshold, loss_shown, lower, upper
from sfumato.audit.features import Encoder, flatten
from sfumato.audit.neighbours import Pair
from sfumato.privacy.loss import ApproxDP, Loss, PureDP
from sfumato.privacy.method import Method
from sfumato.privacy.progress import track
from sfumato.privacy.record import Diverged, record, replay

Floats = NDArray[np.float64]
Mechanism = Callable[[Any], Any]

#: δs at which the curve is told.
CURVE = (0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
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

    @property
    def promised(self) -> float:
        """The ε that is promised."""
        loss = self.claimed
        return float(loss.epsilon) if isinstance(loss, PureDP | ApproxDP) else math.inf

    @property
    def refuted(self) -> bool:
        """Whether the promise is refuted at the stated confidence."""
        return self.bound > self.promised

    def __str__(self) -> str:
        percent = f"{100 * self.confidence:.6g} %"
        if self.refuted:
            return (
                f"REFUTED at {percent}: {self.claimed} is promised, but a loss of {self.bound:.4g} "
                f"is shown on the pair '{self.pair}'"
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


def audit(
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
    Outputs on both data sets are split in halves. On the first halves scores are learned (a
    classifier, the most telling features, and for a method the exact loss of its transcript) and
    the event is chosen; on the second halves it is tested.
    """
    if not isinstance(pair, Pair):
        pair = Pair("the given pair", *pair)
    if trials < 100:
        raise ValueError(f"trials must be at least 100; got {trials}")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be at least 0.5 and less than 1; got {confidence}")
    if claimed is None:
        if not isinstance(mechanism, Method):
            raise ValueError("say what is claimed: a function does not tell")
        claimed = mechanism.loss()
    if seed is None:
        samples = _draw(mechanism, pair, trials, questions)
    else:
        with noise.seeded(seed):
            samples = _draw(mechanism, pair, trials, questions)
    delta = float(claimed.delta) if isinstance(claimed, ApproxDP) else 0.0
    # Two directions, two bounds each: the risk is shared by four statements.
    risk = (1 - confidence) / 4
    results = [
        _test(scores, pair.name, claimed, confidence, trials, risk, delta, turned)
        for scores, turned in zip(_directions(samples), (False, True), strict=True)
    ]
    return max(results, key=lambda result: result.bound)


@dataclass(frozen=True)
class _Samples:
    """Flattened outputs on either data set, and the exact losses of transcripts where known."""

    here: list[tuple[list[float], list[str]]]
    there: list[tuple[list[float], list[str]]]
    losses_here: Floats | None
    losses_there: Floats | None


def _draw(
    mechanism: Method[Any, Any] | Mechanism,
    pair: Pair,
    trials: int,
    questions: Sequence[Any] | None,
) -> _Samples:
    """Draw outputs on both data sets."""
    if not isinstance(mechanism, Method):
        here = [flatten(mechanism(pair.here)) for _ in track(range(trials), "drawing")]
        there = [flatten(mechanism(pair.there)) for _ in track(range(trials), "drawing")]
        return _Samples(here, there, None, None)
    outputs: list[list[tuple[list[float], list[str]]]] = []
    losses: list[Floats] = []
    for one, other, sign in ((pair.here, pair.there, 1.0), (pair.there, pair.here, -1.0)):
        said, lost = [], []
        for _ in track(range(trials), "drawing"):
            script = record(mechanism, one, questions=questions)
            said.append(flatten(script.transcript))
            try:
                mirror = replay(mechanism, other, script, questions=questions)
                lost.append(sign * script.loss_against(mirror))
            except Diverged:
                lost.append(sign * 1e6)
        outputs.append(said)
        losses.append(np.array(lost))
    return _Samples(outputs[0], outputs[1], losses[0], losses[1])


@dataclass(frozen=True)
class _Scores:
    """Scores of training and test outputs on either data set, by name."""

    train: dict[str, tuple[Floats, Floats]]
    test: dict[str, tuple[Floats, Floats]]


def _directions(samples: _Samples) -> list[_Scores]:
    """Return the scores for both directions; in the second the data sets change places."""
    half = len(samples.here) // 2
    encoder = Encoder([*samples.here[:half], *samples.there[:half]])
    here, there = encoder.rows(samples.here), encoder.rows(samples.there)
    train: dict[str, tuple[Floats, Floats]] = {}
    test: dict[str, tuple[Floats, Floats]] = {}

    def add(name: str, one: Floats, other: Floats) -> None:
        train[name] = (one[:half], other[:half])
        test[name] = (one[half:], other[half:])

    model = Logistic(here[:half], there[:half])
    add("classifier", model.score(here), model.score(there))
    gaps = np.abs(here[:half].mean(axis=0) - there[:half].mean(axis=0)) / model.scale
    for column in np.argsort(-gaps)[:MOST_FEATURES]:
        add(f"feature {column}", here[:, column], there[:, column])
        add(f"feature {column}, falling", -here[:, column], -there[:, column])
    if samples.losses_here is not None and samples.losses_there is not None:
        add("exact loss of the transcript", samples.losses_here, samples.losses_there)
    turned = [
        {name: (-other, -one) for name, (one, other) in half_scores.items()}
        for half_scores in (train, test)
    ]
    return [_Scores(train, test), _Scores(*turned)]


def _test(
    scores: _Scores,
    pair: str,
    claimed: Loss,
    confidence: float,
    trials: int,
    risk: float,
    delta: float,
    turned: bool,
) -> AuditResult:
    """Choose the event on the training halves and test it on the others."""
    chosen, threshold, best = "", 0.0, -math.inf
    for name, (here, there) in scores.train.items():
        at, shown = best_threshold(here, there, risk=risk, delta=delta)
        if shown > best:
            chosen, threshold, best = name, at, shown
    here, there = scores.test[chosen]
    p = lower(int((here >= threshold).sum()), here.size, risk)
    q = upper(int((there >= threshold).sum()), there.size, risk)
    return AuditResult(
        pair=pair,
        claimed=claimed,
        # A loss is never negative, and neither is what is shown of it.
        bound=max(loss_shown(p, q, delta), 0.0),
        turned=turned,
        confidence=confidence,
        trials=trials,
        event=Event(chosen, threshold),
        p=p,
        q=q,
        curve=tuple((point, loss_shown(p, q, point)) for point in CURVE),
        scores=(here, there),
    )
