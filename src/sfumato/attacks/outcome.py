"""What an attack found out: figures, and what they mean for a custodian. Not private."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import hypot, sqrt
from typing import Any

from sfumato.evaluate.warning import WARNING

__all__ = ["WARNING", "Inversion", "InversionOutcome"]

#: Standard errors on either side of a share that hold the truth 19 times in 20.
USUAL = 1.96


@dataclass(frozen=True)
class Inversion:
    """How often one way of guessing is right. Not private.

    Parameters
    ----------
    name
        What it is called: `"most frequent"`, `"target alone"`, `"model"`, `"model and errors"` or
        `"model without the column"`.
    right
        The share of records whose value is guessed right.
    rows
        How many records it was tried on.
    """

    name: str
    right: float
    rows: int

    @property
    def margin(self) -> float:
        """How far the share may be off by chance, 19 times in 20."""
        return USUAL * sqrt(self.right * (1 - self.right) / self.rows) if self.rows else 1.0

    def to_json(self) -> dict[str, Any]:
        """Return a plain document."""
        return {**asdict(self), "margin": self.margin}


@dataclass(frozen=True)
class Quality:
    """How good a model is at what it was made for. Not private.

    Parameters
    ----------
    what
        What is measured: `"accuracy"` of classes, or `"R²"` of numbers.
    model, without
        That of the model, and of one that was made without the sensitive column; `None` where none
        was made.
    """

    what: str
    model: float
    without: float | None


@dataclass(frozen=True)
class InversionOutcome:
    """How well a sensitive column can be guessed through a model, and without it. Not private.

    Parameters
    ----------
    sensitive, target
        The column that is guessed, and the one that the model predicts.
    values
        How many values the sensitive column has, or was cut into.
    known, unknown
        The other columns of the model that the attacker knows of a person, and those not known.
    source
        Where the attacker has the shares and the errors of the model from: `"train"`,
        `"public"` or `"dp"`.
    quality
        How good the model is.
    guesses
        The ways of guessing, tried on the records the model was made of.
    others
        The same tried on records that the model was not made of; empty where none were given.
    parts, target_parts
        What the sensitive column, and the target, were cut into where they are numbers; empty where
        each value counts by itself.
    """

    sensitive: str
    target: str
    values: int
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    source: str
    quality: Quality
    guesses: tuple[Inversion, ...]
    others: tuple[Inversion, ...] = ()
    parts: tuple[str, ...] = ()
    target_parts: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Inversion:
        """Return a way of guessing by its name."""
        return next(item for item in self.guesses if item.name == name)

    @property
    def through_model(self) -> Inversion:
        """The better of the two ways that use the model."""
        return max(self["model"], self["model and errors"], key=lambda item: item.right)

    @property
    def gain(self) -> float:
        """How many more are right through the model than by naming the most frequent value."""
        return self.through_model.right - self["most frequent"].right

    @property
    def gain_over_target(self) -> float:
        """How many more are right through the model than by the target alone."""
        return self.through_model.right - self["target alone"].right

    @property
    def best_without(self) -> Inversion:
        """The better of the two ways that do without the model."""
        return max(self["most frequent"], self["target alone"], key=lambda item: item.right)

    @property
    def margin(self) -> float:
        """How far the difference to the best without the model may be off, 19 times in 20."""
        return hypot(self.through_model.margin, self.best_without.margin)

    def to_json(self) -> dict[str, Any]:
        """Return a plain document, which says that it is not private."""
        return {
            "private": False,
            "warning": WARNING,
            "sensitive": self.sensitive,
            "target": self.target,
            "values": self.values,
            "known": list(self.known),
            "unknown": list(self.unknown),
            "source": self.source,
            "quality": asdict(self.quality),
            "guesses": [item.to_json() for item in self.guesses],
            "others": [item.to_json() for item in self.others],
            "gain": self.gain,
            "gain_over_target": self.gain_over_target,
            "margin": self.margin,
            "parts": list(self.parts),
            "target_parts": list(self.target_parts),
            "verdict": self.verdict(),
            "words": self.words(),
        }

    def words(self) -> str:
        """Return what was found, in plain sentences."""
        return " ".join(self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """Return what was found, one finding a sentence, and last what follows from it."""
        found = [*self._cut(), self._through_model()]
        if self._guessable:
            found.append(self._beside_target())
        found += [*self._dropped(), *self._others(), self.verdict()]
        return tuple(found)

    @property
    def _guessable(self) -> bool:
        """Whether the model tells more than always naming the most frequent value."""
        return self.gain > hypot(self.through_model.margin, self["most frequent"].margin)

    @property
    def _model_tells(self) -> bool:
        """Whether the model tells more than the best without it."""
        more = self.through_model.right - self.best_without.right
        return self._guessable and more > self.margin

    def verdict(self) -> str:
        """Return what a custodian may conclude, in a sentence or two."""
        if self._model_tells:
            return (
                f"Verdict: the model itself helps to infer {self.sensitive}. Remove the column "
                "from the schema if it must not be inferred, or publish the model and accept "
                "this."
            )
        if self._guessable:
            return (
                f"Verdict: the model reveals no more about {self.sensitive} than {self.target} "
                f"does by itself. An attacker who knows a person's {self.target} can infer it "
                "with or without the model; this is no reason to withhold the model."
            )
        return (
            f"Verdict: this attack does not infer {self.sensitive} through the model. It is one "
            "attack, with the knowledge stated here; it does not rule out others."
        )

    def _cut(self) -> list[str]:
        found = []
        if self.parts:
            found.append(
                f"{self.sensitive} was cut into {len(self.parts)} intervals, and the right "
                f"interval counts as a right guess: {', '.join(self.parts)}."
            )
        if self.target_parts:
            found.append(
                f"{self.target} was cut into {len(self.target_parts)} intervals, and the "
                f"attacker knows the right one: {', '.join(self.target_parts)}."
            )
        return found

    def _through_model(self) -> str:
        best, guess = self.through_model, self["most frequent"]
        if not self._guessable:
            near = abs(self.gain) <= hypot(best.margin, guess.margin)
            return (
                f"The attack through the model guesses {self.sensitive} right for {_share(best)} "
                "of the records, no better than always guessing the most frequent value "
                f"({_share(guess)}{', not a significant difference' * near})."
            )
        return (
            "An attacker with the model who knows a person's "
            f"{self.target}{_list_names(self.known)} guesses {self.sensitive} right for "
            f"{_share(best)} of the records; always guessing the most frequent value is right "
            f"for {_share(guess)}."
        )

    def _beside_target(self) -> str:
        alone, more = self["target alone"], self.gain_over_target
        if self._model_tells:
            return (
                f"An attacker who knows {self.target} alone is right for {_share(alone)}; "
                "through the model "
                f"{100 * (self.through_model.right - self.best_without.right):.1f} percentage "
                f"points more often than by the best guess without it (± {100 * self.margin:.1f} "
                "by chance)."
            )
        difference = (
            f"{100 * -more:.1f} percentage points more often than through the model"
            if -more > self.margin
            else "not significantly different from the model"
        )
        return (
            f"An attacker without the model who knows {self.target} and its association with "
            f"{self.sensitive} in the population is right for {_share(alone)}, {difference}: "
            f"{self.target} itself reveals {self.sensitive}, not the model."
        )

    def _dropped(self) -> list[str]:
        quality = self.quality
        if quality.without is None:
            return []
        return [
            f"A model without {self.sensitive} reveals nothing about it; fitted once by the same "
            f"method, with fresh noise, it has {quality.what} {quality.without:.3f} instead of "
            f"{quality.model:.3f}. Noise is part of that difference."
        ]

    def _others(self) -> list[str]:
        if not self.others:
            return []
        inside = self["model and errors"]
        outside = next(item for item in self.others if item.name == inside.name)
        apart = inside.right - outside.right
        same = abs(apart) <= inside.margin + outside.margin
        return [
            f"For people who are not in the data the same attack is right for {_share(outside)}: "
            + (
                "not a significant difference. Being in the data makes no measurable difference; "
                "the attack uses facts about the population."
                if same
                else f"being in the data makes a difference of {100 * abs(apart):.1f} percentage "
                "points."
            )
        ]


def _share(item: Inversion) -> str:
    """Return a share with how far it may be off."""
    return f"{item.right:.1%} ± {100 * item.margin:.1f}"


def _list_names(names: tuple[str, ...]) -> str:
    """Return a few further names in words, or how many there are."""
    if len(names) <= 3:
        return "".join(f" and {name}" for name in names)
    return f" and {len(names)} other columns"
