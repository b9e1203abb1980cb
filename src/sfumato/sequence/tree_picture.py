"""The picture of a sequence model: its weightiest contexts as a tree, and what follows each.

Everything in it is a function of the released model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.sequence.files import START
from sfumato.sequence.suffix_model import Context, SuffixModel

if TYPE_CHECKING:
    from sfumato.sequence.model import SequenceModel

#: More contexts or symbols than this do not fit a picture that can be read.
MOST_CONTEXTS, MOST_SYMBOLS = 32, 24
#: Where the pieces of a row lie, in columns of the heat map.
INDENT, BAR, GAP = 0.9, 4.0, 1.2

INK, LINE, FILL = "#1d3557", "#8d99ae", "#a8c5da"


def tree_picture(release: SequenceModel) -> Any:
    """Return a figure: a row for each context, indented below its shorter one."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    model = release.model
    rows = _rows(model)
    symbols = _symbols(model)
    names = [_short(str(release.public.label(code))) for code in symbols]
    texts = [_words(release, context) for _, context in rows]
    reach = [INDENT * len(c) + 0.26 * len(text) for (_, c), text in zip(rows, texts, strict=True)]
    left = max(reach) + GAP
    width = left + BAR + GAP + len(symbols) + 1.5
    # Names are text, even where they hold a dollar sign.
    with mpl.rc_context({"text.parse_math": False}):
        size = (max(0.3 * width, 6.0) + 0.6, 0.25 * (len(rows) + 2) + 1.4)
        figure = Figure(figsize=size, layout="constrained")
        axis = figure.add_subplot()
        axis.set_xlim(-0.5, width)
        axis.set_ylim(len(rows) + 0.3, -2.2)
        axis.set_axis_off()
        _tree(axis, rows, texts)
        _bars(axis, model, rows, left)
        _heat(axis, model, rows, symbols, [*names, "end"], left + BAR + GAP)
        figure.suptitle(_title(release, rows), fontsize=10, color=INK)
    return figure


def _rows(model: SuffixModel) -> list[tuple[int, Context]]:
    """Return the weightiest contexts, parents before their children, families together."""
    totals = model.histograms.sum(axis=1)
    contexts = list(model.contexts())
    ranked = sorted(range(model.nodes), key=lambda node: (-totals[node], len(contexts[node])))
    chosen = {0}
    number = {context: node for node, context in enumerate(contexts)}
    for node in ranked:
        family = {number[contexts[node][place:]] for place in range(len(contexts[node]) + 1)}
        if len(chosen | family) <= MOST_CONTEXTS and totals[node] > 0:
            chosen |= family
    rows: list[tuple[int, Context]] = []

    def visit(node: int) -> None:
        rows.append((node, contexts[node]))
        below = [int(child) for child in model.children[node] if int(child) in chosen]
        for child in sorted(below, key=lambda child: -totals[child]):
            visit(child)

    visit(0)
    return rows


def _symbols(model: SuffixModel) -> list[int]:
    """Return the symbols that are shown: all, or the most frequent ones in their order."""
    ranked = np.argsort(-model.histograms[0, :-1], kind="stable")[:MOST_SYMBOLS]
    return sorted(ranked.tolist())


def _short(text: str) -> str:
    return text if len(text) <= 12 else text[:11] + "…"


def _words(release: SequenceModel, context: Context) -> str:
    if not context:
        return "(any)"
    public = release.public
    words = [START if c == public.symbols else _short(str(public.label(c))) for c in context]
    return " ".join(words)


def _tree(axis: Any, rows: list[tuple[int, Context]], texts: list[str]) -> None:
    """Draw the contexts, each with a line from its parent's stem."""
    place = {context: row for row, (_, context) in enumerate(rows)}
    # Of several children the last one is kept: the stem ends there.
    stems = {context[1:]: row for row, (_, context) in enumerate(rows) if context}
    for context, last in stems.items():
        stem = INDENT * (len(context) + 0.4)
        axis.plot([stem, stem], [place[context] + 0.36, last], color=LINE, linewidth=0.8)
    for row, ((_, context), text) in enumerate(zip(rows, texts, strict=True)):
        indent = INDENT * len(context)
        if context:
            axis.plot([indent - 0.6 * INDENT, indent - 0.12], [row, row], color=LINE, linewidth=0.8)
        axis.text(indent, row, text, va="center", fontsize=8, color=INK)


def _bars(axis: Any, model: SuffixModel, rows: list[tuple[int, Context]], left: float) -> None:
    """Draw how often each context occurs, in proportion to the most frequent one."""
    totals = [float(model.histograms[node].sum()) for node, _ in rows]
    most = max(*totals, 1e-12)
    axis.text(left, -1, "occurs", fontsize=7.5, color=INK, va="center")
    for row, total in enumerate(totals):
        axis.barh(row, BAR * total / most, left=left, height=0.62, color=FILL, linewidth=0)
        axis.text(left + 0.08, row, f"{total:,.0f}", va="center", fontsize=6.5, color=INK)


def _heat(
    axis: Any,
    model: SuffixModel,
    rows: list[tuple[int, Context]],
    symbols: list[int],
    names: list[str],
    left: float,
) -> None:
    """Draw how likely each symbol comes next, darker for likelier."""
    from matplotlib.colors import PowerNorm

    chances = np.array([model.probabilities[node][[*symbols, -1]] for node, _ in rows])
    axis.imshow(
        chances,
        extent=(left, left + chances.shape[1], len(rows) - 0.5, -0.5),
        cmap="Blues", norm=PowerNorm(0.6, 0.0, 1.0), aspect="auto", interpolation="nearest",
    )  # fmt: skip
    turned = max(map(len, names)) > 2
    for column, name in enumerate(names):
        axis.text(
            left + column + 0.5, -0.7, name, fontsize=7, color=INK, ha="center", va="bottom",
            rotation=60 if turned else 0,
        )  # fmt: skip
    for row, column in zip(*np.nonzero(chances >= 0.1), strict=True):
        value = chances[row, column]
        axis.text(
            left + column + 0.5, row, f"{100 * value:.0f}", fontsize=5.5, ha="center", va="center",
            color="white" if value > 0.5 else INK,
        )  # fmt: skip


def _title(release: SequenceModel, rows: list[tuple[int, Context]]) -> str:
    nodes = release.model.nodes
    which = f"the {len(rows)} weightiest of {nodes:,}" if nodes > len(rows) else f"all {nodes}"
    hidden = release.public.symbols - MOST_SYMBOLS
    more = f"; {hidden} rarer symbols are not drawn" if hidden > 0 else ""
    return f"Contexts ({which}), how often they occur, and what comes next in %{more}"
