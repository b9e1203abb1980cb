"""The budget: a filter that every primitive asks before it draws.

Composition lives here and nowhere else. Sequential slices add. Parallel slices take the maximum,
under add/remove and for parts that are disjoint *by unit*; under replace-one a record can move
between two parts, so parallel slices priced for add/remove cost 2·max ε, (2ε, (1+e^ε)δ) or 4·max ρ.
A refusal aborts and nothing is refunded. A budget is opened in `sfumato.privacy.door` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from sfumato.noise.exact import exact
from sfumato.privacy.guarantee import Relation
from sfumato.privacy.loss import Loss, Number, zero
from sfumato.privacy.primitive import Primitive, Run, StatefulPrimitive
from sfumato.privacy.transcript import Entry, Slice, Transcript, settled


class SliceExceeded(RuntimeError):
    """A primitive asked for more than its slice holds; nothing was drawn."""


class BudgetClosed(RuntimeError):
    """A primitive asked for budget after the door was closed."""


class Driver(Protocol):
    """Who carries out a measurement: the sampler, or an auditor who records and replays."""

    def measure(self, label: str, path: tuple[str, ...], primitive: Primitive, value: Any) -> Any:
        """Return the output of a one-shot primitive."""

    def start(self, label: str, path: tuple[str, ...], primitive: StatefulPrimitive) -> Run:
        """Return a run of a stateful primitive."""


class Sampler:
    """The driver of every real release: it draws."""

    def measure(self, label: str, path: tuple[str, ...], primitive: Primitive, value: Any) -> Any:
        """Draw the output of a one-shot primitive."""
        return primitive.sample(value)

    def start(self, label: str, path: tuple[str, ...], primitive: StatefulPrimitive) -> Run:
        """Draw the hidden state of a stateful primitive."""
        return primitive.start()


class _Account:
    """What all slices of one opening share: the driver, the transcript, whether it is open."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.open = True
        self.labels: set[str] = set()
        self.drafts: list[tuple[str, tuple[str, ...], dict[str, Any], dict[str, str], list[Any]]]
        self.drafts = []
        self.slices: list[Slice] = []
        self.paths: set[tuple[str, ...]] = set()

    def draft(
        self, label: str, path: tuple[str, ...], signature: dict[str, Any], cost: Loss
    ) -> list[Any]:
        """Open an entry of the transcript and return its list of outputs."""
        if label in self.labels:
            raise ValueError(f"two measurements carry the label {label!r}")
        self.labels.add(label)
        outputs: list[Any] = []
        self.drafts.append((label, path, signature, cost.to_json(), outputs))
        return outputs

    def transcript(self) -> Transcript:
        return Transcript(
            tuple(
                Entry(label, path, signature, cost, tuple(outputs))
                for label, path, signature, cost, outputs in self.drafts
            ),
            tuple(self.slices),
        )


# Only the door holds this; without it no budget can be made.
_KEY = object()


class Budget:
    """A slice of privacy budget, in exact fractions.

    Parameters
    ----------
    limit
        The loss this slice may spend, for one record of the data.
    relation
        What a neighbour is for the primitives paid from this slice: their declared sensitivities
        must hold under it.
    """

    def __init__(
        self,
        *,
        limit: Loss,
        relation: Relation,
        account: _Account,
        path: tuple[str, ...],
        key: object,
    ) -> None:
        if key is not _KEY:
            raise PermissionError(
                "a budget is opened by the door only; call release, open, perturb or fit"
            )
        self.limit = limit
        self.relation = relation
        self.path = path
        self._account = account
        self._spent = zero(type(limit))

    def __repr__(self) -> str:
        return f"Budget({'/'.join(self.path) or 'whole'}: {self._spent} of {self.limit} spent)"

    @property
    def remaining(self) -> Loss:
        """What this slice may still spend."""
        return self.limit - self._spent  # type: ignore[operator]

    def _charge(self, cost: Loss, what: str) -> None:
        """Spend from this slice, or refuse before anything is drawn."""
        if not self._account.open:
            raise BudgetClosed(f"{what} asked for budget after the door was closed")
        if not cost.fits(self.remaining):  # type: ignore[arg-type]
            raise SliceExceeded(
                f"{what} asks for {cost}, but of {self.limit} in this slice {self._spent} is spent"
            )
        self._spent = self._spent + cost  # type: ignore[operator]

    def _child(self, limit: Loss, relation: Relation, name: str, *, part: bool) -> Budget:
        path = (*self.path, name)
        if path in self._account.paths:
            raise ValueError(f"two slices carry the name {'/'.join(path)!r}")
        self._account.paths.add(path)
        self._account.slices.append(Slice(path, limit.to_json(), part))
        return Budget(limit=limit, relation=relation, account=self._account, path=path, key=_KEY)

    def take(self, share: Number | Loss, name: str) -> Budget:
        """Return a sequential slice: a share of this slice's limit, or a given loss.

        Its whole limit is spent from this slice at once, whatever is used of it later.
        """
        if isinstance(share, type(self.limit)):
            limit: Loss = share
        else:
            part = exact(share)
            if not 0 < part <= 1:
                raise ValueError(f"a share must be greater than 0 and at most 1; got {share!r}")
            limit = self.limit.share(part)
        self._charge(limit, f"the slice {name!r}")
        return self._child(limit, self.relation, name, part=False)

    def split(self, names: Sequence[str], weights: Sequence[Number] | None = None) -> list[Budget]:
        """Split all of this slice into sequential slices, equally or by weight."""
        parts = [exact(weight) for weight in weights] if weights else [Fraction(1)] * len(names)
        total = sum(parts, Fraction(0))
        return [self.take(part / total, name) for part, name in zip(parts, names, strict=True)]

    def parallel(self, names: Sequence[str], share: Number = 1, *, name: str) -> list[Budget]:
        """Return slices for parts of the data that are disjoint by unit, all for one price.

        Under replace-one the children are priced for add/remove, and hold half of the share (a
        quarter for zCDP), because the replaced record can leave one part and enter another.

        Parameters
        ----------
        names
            One name a part.
        share
            The share of this slice's limit that the parallel parts cost together.
        name
            The name of the partition.
        """
        whole = self.take(share, name)
        limit = whole.limit
        if self.relation is Relation.REPLACE_ONE:
            limit = limit.per_unit(2)
        whole._charge(whole.limit, f"the parallel parts of {name!r}")
        return [whole._child(limit, Relation.ADD_REMOVE, part, part=True) for part in names]

    def measure(self, primitive: Primitive, value: Any, *, label: str) -> Any:
        """Pay for a primitive, then let it speak.

        Parameters
        ----------
        primitive
            What is drawn, with its public signature.
        value
            The private input.
        label
            A name for the output in the transcript.
        """
        cost = primitive.cost(type(self.limit))
        self._charge(cost, f"{primitive.kind} {label!r}")
        primitive.check(value)
        outputs = self._account.draft(label, self.path, primitive.signature(), cost)
        output = settled(self._account.driver.measure(label, self.path, primitive, value))
        outputs.append(output)
        return output

    def start(self, primitive: StatefulPrimitive, *, label: str) -> Steps:
        """Pay for a stateful primitive and start it; its steps cost nothing further."""
        cost = primitive.cost(type(self.limit))
        self._charge(cost, f"{primitive.kind} {label!r}")
        outputs = self._account.draft(label, self.path, primitive.signature(), cost)
        run = self._account.driver.start(label, self.path, primitive)
        return Steps(primitive, run, outputs, self._account)


class Steps:
    """A running stateful primitive whose outputs go to the transcript."""

    def __init__(
        self, primitive: StatefulPrimitive, run: Run, outputs: list[Any], account: _Account
    ) -> None:
        self._primitive = primitive
        self._run = run
        self._outputs = outputs
        self._account = account

    @property
    def done(self) -> bool:
        """Whether the primitive has stopped."""
        return self._run.done

    def step(self, value: Any) -> Any:
        """Take one private input and return what the primitive says to it."""
        if not self._account.open:
            raise BudgetClosed("a step was asked for after the door was closed")
        if self._run.done:
            raise RuntimeError("this primitive has stopped; start a new one and pay for it")
        self._primitive.check(value)
        output = settled(self._run.step(value))
        self._outputs.append(output)
        return output
