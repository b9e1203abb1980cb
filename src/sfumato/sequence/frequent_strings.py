"""The release of a list of frequent strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.data.alphabet import Symbol
from sfumato.data.frames import ToFrame
from sfumato.data.sequences import SequencesPublic
from sfumato.privacy.release import Release
from sfumato.sections import Section
from sfumato.sequence.files import csv, describe_used, string_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FrequentStrings"]

#: More strings than this do not fit a picture that can be read.
MOST_DRAWN = 60


class FrequentStrings(Release, ToFrame):
    """Strings that are among the most frequent, in the order in which they were chosen.

    Parameters
    ----------
    public
        What is public about the sequences.
    strings
        The strings, as codes.
    limit
        The length limit: how many symbols of a sequence were used at most.
    """

    kind = "frequent strings"

    def __init__(
        self, public: SequencesPublic, strings: Sequence[tuple[int, ...]], *, limit: int
    ) -> None:
        self.public = public
        self.strings = tuple(strings)
        self.limit = limit

    def top(self, k: int | None = None) -> list[tuple[Symbol, ...]]:
        """Return the first strings of the list, by default all.

        Parameters
        ----------
        k
            How many; at most as many as were released.
        """
        k = len(self.strings) if k is None else k
        if not 1 <= k <= len(self.strings):
            raise ValueError(f"k must be from 1 to the {len(self.strings)} strings; got {k}")
        return [self.public.labels(string) for string in self.strings[:k]]

    def to_polars(self) -> pl.DataFrame:
        """Return the strings, the most frequent first, as a Polars frame."""
        import polars as pl

        columns = [
            pl.Series("place", range(1, len(self.strings) + 1), pl.Int64),
            pl.Series("string", [string_text(self.public, s) for s in self.strings], pl.String),
            pl.Series("symbols", [len(string) for string in self.strings], pl.Int64),
        ]
        return pl.DataFrame(columns)

    def files(self) -> dict[str, bytes]:
        """Return the strings as CSV."""
        return {"strings.csv": csv(self.to_polars())}

    def words(self) -> str:
        """Return what this release is, in a few plain sentences."""
        return (
            f"{len(self.strings):,} strings, likely among the most frequent, of sequences over "
            f"{self.public.symbols:,} symbols. They were chosen one after another, each with a "
            f"probability that grows with how often it occurs, so that no one {self.public.unit} "
            "changes the list by much. With few data the list may hold strings that are rare or "
            "do not occur at all; their frequencies are not released. "
            f"{describe_used(self.public, self.limit)}"
        )

    def summary(self) -> dict[str, Any]:
        """Return the limit and the number of strings, for programs."""
        return {"limit": self.limit, "strings": len(self.strings)}

    def sections(self) -> tuple[Section, ...]:
        """Return what its page shows."""
        from sfumato.sequence.pages import strings_sections

        return strings_sections(self)

    def plot(self) -> Any:
        """Return a figure that lists the strings."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        shown = self.strings[:MOST_DRAWN]
        down = min(len(shown), 20)
        across = -(-len(shown) // down)
        with mpl.rc_context({"text.parse_math": False}):
            figure = Figure(figsize=(2.9 * across + 0.6, 0.24 * down + 0.9))
            axis = figure.add_axes((0.03, 0.02, 0.96, 0.9))
            axis.set_axis_off()
            axis.set_xlim(0, across)
            axis.set_ylim(down, -0.7)
            for place, string in enumerate(shown):
                text = string_text(self.public, string)
                text = text if len(text) <= 32 else text[:31] + "…"
                axis.text(
                    place // down, place % down, f"{place + 1:>3}  {text}", fontsize=8,
                    family="monospace", va="center", color="#1d3557",
                )  # fmt: skip
            hidden = len(self.strings) - len(shown)
            more = f" (the first {len(shown)} of {len(self.strings)})" if hidden else ""
            axis.set_title(f"Frequent strings, in the order of choice{more}", fontsize=10)
        return figure
