"""Record on one data set, replay on its neighbour: exact, fast, and it names the step.

A method passes if, on the neighbour, everything published beside the outputs is the same, every
primitive's inputs keep the distance it declared, and the exact privacy loss of every transcript
that was tried is within the promise. Replay trusts log-probabilities and sees only the transcripts
it tries, so outputs that tell neighbours apart best are forced as well. Passing is necessary, not
sufficient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato import noise
from sfumato.audit.neighbours import Pair
from sfumato.mechanisms.partition_selection import FrequentValues
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import GDP, ZCDP, ApproxDP, Joint, Loss, PureDP
from sfumato.privacy.primitive import Primitive
from sfumato.privacy.record import Diverged, Recorded, Recording, Said, record, replay

#: Later outputs may change what is asked, so extremes are forced again until nothing changes.
ROUNDS = 4


@dataclass
class ReplayFindings:
    """What replay found on one pair.

    Parameters
    ----------
    pair
        The pair's name.
    claimed
        The loss that is promised for one unit.
    largest
        The largest loss of a transcript, in the measure of the promise, or as a part of a joint
        one; infinite where the neighbour published something else.
    faults
        What is wrong, in words, with the step that shows it.
    """

    pair: str
    claimed: Loss
    largest: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing was refuted."""
        return not self.faults

    def fault(self, text: str) -> None:
        """Write down a fault once."""
        if text not in self.faults:
            self.faults.append(text)


def fresh(method: Any) -> Any:
    """Return a copy of a method that remembers nothing of earlier runs."""
    return type(method).from_parameters(method.parameters())


def unit_size(public: Any) -> int:
    """Return how many records may change when one unit does."""
    replaced = public.relation is Relation.REPLACE_ONE and public.contribution > 1
    return int(public.contribution * (2 if replaced else 1))


def examine(
    method: Any,
    pair: Pair,
    *,
    questions: Sequence[Any] | None = None,
    seeds: Sequence[int] = tuple(range(10)),
) -> ReplayFindings:
    """Record and replay a method on a pair, both ways round.

    Parameters
    ----------
    method
        The method.
    pair
        Two neighbouring data sets.
    questions
        What an interactive method is asked.
    seeds
        Seeds of the transcripts that are drawn; extremes are forced besides.
    """
    findings = ReplayFindings(pair.name, method.budget_loss(pair.here.public))
    if pair.here.public != pair.there.public:
        findings.largest = math.inf
        findings.fault("the neighbours have different public parts")
        return findings
    for turn in (pair, pair.turned()):
        for seed in seeds:
            with noise.seeded(seed):
                script = record(fresh(method), turn.here, questions=questions)
            if not _compare(method, turn, script, findings, questions):
                break
        else:
            _force(method, turn, findings, questions)
    return findings


def _compare(
    method: Any,
    pair: Pair,
    script: Recording,
    findings: ReplayFindings,
    questions: Sequence[Any] | None,
) -> Recording | None:
    """Replay a script on the neighbour and write down what is wrong; None where it diverged."""
    try:
        mirror = replay(fresh(method), pair.there, script, questions=questions)
    except Diverged as diverged:
        findings.largest = math.inf
        findings.fault(str(diverged))
        return None
    for step, change in script.changes(mirror):
        if not change.holds_for(_size(pair.here.public, script, step)):
            findings.fault(
                f"{step.label!r} ({step.primitive.kind}): inputs are {float(change.measured):.6g} "
                f"apart in {change.norm}, declared is {float(change.allowed):.6g} for one record"
            )
    chances = [step.log_probability() for step in script]
    for step, chance in zip(script, chances, strict=True):
        if not math.isfinite(chance):
            findings.fault(f"{step.label!r} returned an output of probability 0")
    realised = _realised_loss(findings.claimed, script, mirror, chances)
    if math.isnan(realised):
        realised = math.inf
    findings.largest = max(findings.largest, realised)
    promised = _figure(findings.claimed)
    # What a sum of logarithms, each rounded to 53 bits, may be off by.
    rounding = 1e-14 * sum(map(abs, chances))
    if not realised <= promised * (1 + 1e-9) + rounding:
        findings.fault(
            f"a transcript has a loss of {realised:.6g} where {promised:.6g} is promised"
        )
    return mirror


def _size(public: Any, script: Recording, step: Recorded) -> int:
    """Return by how many records the inputs of a step may differ when one unit changes.

    Parallel parts are priced for add/remove, under replace-one for a group of two: the old record
    and the new one may be in the same part.
    """
    parts = [cut.path for cut in script.transcript.slices if cut.part]
    inside = any(step.path[: len(path)] == path for path in parts)
    replaced = public.relation is Relation.REPLACE_ONE
    return max(unit_size(public), 2 if replaced and inside else 1)


def _figure(loss: Loss) -> float:
    """Return the figure a loss is compared by."""
    if isinstance(loss, GDP):
        # Counted in ρ = μ²/2, which two Gaussian laws lose exactly.
        return float(loss.mu_squared) / 2
    if isinstance(loss, Joint):
        # Counted in parts of what each of the two may spend.
        return 1.0
    return float(loss.rho if isinstance(loss, ZCDP) else loss.epsilon)


def _realised_loss(
    working: Loss, script: Recording, mirror: Recording, chances: Sequence[float]
) -> float:
    """Return the loss of a transcript for one unit, in the measure the method counts in.

    Under pure loss it is the exact log-ratio. Under zCDP no single transcript has a loss to be
    compared with ρ; what each primitive's law gives for its two inputs is added up. Under (ε, δ)
    a transcript may lose more than ε, with a probability of δ: see `_approximately`. The chances
    are the log-probabilities of the steps of the script.
    """
    if isinstance(working, Joint):
        return _jointly(working, script, mirror)
    if isinstance(working, PureDP):
        there = (step.log_probability() for step in mirror)
        return abs(sum(mine - theirs for mine, theirs in zip(chances, there, strict=True)))
    if isinstance(working, ApproxDP):
        return _approximately(script, mirror, chances)
    return math.fsum(_concentrated(*pair) for pair in zip(script, mirror, strict=True))


def _concentrated(mine: Recorded, theirs: Recorded) -> float:
    """Return the ρ of one step."""
    if isinstance(mine.primitive, Primitive):
        return mine.primitive.concentrated_loss(mine.inputs[0], theirs.inputs[0])
    return mine.primitive.concentrated_loss(mine.inputs, theirs.inputs)


def _jointly(claimed: Joint, script: Recording, mirror: Recording) -> float:
    """Return which part of a joint loss is spent, in that of its figures which is spent most.

    Of a step with a δ, ε is what its inputs are apart, and δ is the exact probability of an output
    that loses more, added up over all values.
    """
    epsilon = delta = rho = 0.0
    for mine, theirs in zip(script, mirror, strict=True):
        if not isinstance(mine.primitive, FrequentValues):
            rho += _concentrated(mine, theirs)
            continue
        apart = mine.change(theirs).measured
        epsilon += float(mine.primitive.epsilon * apart)
        delta += mine.primitive.excess(mine.inputs[0], theirs.inputs[0])
    limit = claimed.with_delta
    return max(
        epsilon / float(limit.epsilon),
        delta / float(limit.delta),
        rho / float(claimed.concentrated.rho),
    )


def _approximately(script: Recording, mirror: Recording, chances: Sequence[float]) -> float:
    """Return the ε of a transcript under (ε, δ).

    Steps without a δ of their own have an exact log-ratio. Of a step with one no single output says
    anything, since it may be among the unlucky ones: where its inputs differ, it costs its ε, and
    that they differ by no more than was declared is looked at apart.
    """
    exact, priced = 0.0, 0.0
    for mine, theirs, chance in zip(script, mirror, chances, strict=True):
        price = mine.primitive.cost(ApproxDP)
        assert isinstance(price, ApproxDP)
        if price.delta == 0:
            exact += chance - theirs.log_probability()
        elif mine.change(theirs).measured > 0:
            priced += float(price.epsilon)
    return abs(exact) + priced


def _force(
    method: Any, pair: Pair, findings: ReplayFindings, questions: Sequence[Any] | None
) -> None:
    """Force the outputs that tell the neighbours apart best, and compare again.

    Other outputs lead an adaptive method elsewhere, where others are worst: so it is done again, a
    few times, or until the outputs that would be forced are those that were said.
    """
    said: list[Said | None] = []
    for turn in range(ROUNDS + 1):
        with noise.seeded(0):
            script = record(fresh(method), pair.here, questions=questions, said=said)
        mirror = _compare(method, pair, script, findings, questions)
        if mirror is None or turn == ROUNDS:
            return
        said = [_worst(mine, theirs) for mine, theirs in zip(script, mirror, strict=True)]
        # What is not forced draws the same bits again only where the others were forced before.
        if (turn or None not in said) and _repeats(script, said):
            return


def _repeats(script: Recording, said: Sequence[Said | None]) -> bool:
    """Tell whether forcing these outputs would give the same script again."""
    return all(
        planned is None
        or (
            type(planned.output) is type(step.outputs[0])
            and np.array_equal(planned.output, step.outputs[0])
        )
        for step, planned in zip(script, said, strict=True)
    )


def _worst(mine: Recorded, theirs: Recorded) -> Said | None:
    """Return the output of a step that is likeliest here compared with there; None: let it draw."""
    primitive = mine.primitive
    if not isinstance(primitive, Primitive):
        return None
    value, neighbour = mine.inputs[0], theirs.inputs[0]
    outputs = [*primitive.extremes(value, neighbour), mine.outputs[0]]
    worst = max(
        outputs,
        key=lambda output: (
            primitive.log_probability(value, output) - primitive.log_probability(neighbour, output)
        ),
    )
    return Said(mine.label, mine.path, primitive, worst)
