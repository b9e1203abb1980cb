"""The release of one number about a graph."""

from __future__ import annotations

from typing import Any

from sfumato.privacy.canonical import canonical
from sfumato.privacy.release import Release

__all__ = ["NumberRelease"]


class NumberRelease(Release):
    """One noisy whole number.

    Parameters
    ----------
    what
        What is counted, in words.
    value
        The noisy number; it may be negative or too large, as noise is.
    margin
        The 95 % margin of its noise where that is public; `None` where the noise follows the data.
    largest
        The largest value it could have on these nodes. Public.
    note
        What else a reader must know, in a sentence.
    """

    kind = "number"

    def __init__(
        self, what: str, value: int, *, margin: float | None, largest: int, note: str = ""
    ) -> None:
        self.what = what
        self.value = value
        self.margin = margin
        self.largest = largest
        self.note = note

    @property
    def possible(self) -> int:
        """The value moved into the range that is possible, which biases it near the ends."""
        return min(max(self.value, 0), self.largest)

    def files(self) -> dict[str, bytes]:
        """Return the number as a small JSON document."""
        document = {"what": self.what, "value": str(self.value), "possible": str(self.possible)}
        if self.margin is not None:
            document["margin"] = f"{self.margin:.6g}"
        if self.note:
            document["note"] = self.note
        return {"number.json": canonical(document) + b"\n"}

    def words(self) -> str:
        """Return the number in a sentence."""
        off = (
            "its noise follows the graph, so how large it is cannot be told"
            if self.margin is None
            else f"± {self.margin:,.4g}, 19 times in 20"
        )
        told = f"The graph has about {self.possible:,} {self.what} ({off})."
        return f"{told} {self.note}" if self.note else told

    def plot(self) -> Any:
        """Return a figure with the number and its margin."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 1.4), layout="constrained")
        axis = figure.subplots()
        error = None if self.margin is None else [self.margin]
        axis.barh([self.what], [float(self.possible)], xerr=error, color="#4c72b0")
        axis.set_xlabel("how many")
        axis.spines[["top", "right"]].set_visible(False)
        return figure
