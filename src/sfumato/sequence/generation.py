"""Drawing synthetic sequences from a suffix model: post-processing, which costs no privacy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.sequence.suffix_model import SuffixModel

__all__ = ["LONGER", "extend_model", "generate"]

#: Uniform numbers are drawn at most this many at a time.
BLOCK = 2**20
#: Drawn sequences are at most this many times as long as the length limit.
LONGER = 10
#: What lies behind a length limit is estimated from this many sequences, or from fewer that have
#: about so many symbols together …
EXTENDED_ROWS, EXTENDED_SYMBOLS = 100_000, 2**20
#: … and not at all where the limit is larger than this: few symbols lie behind it.
LARGEST_EXTENDED = 1000
#: A symbol's own ratio counts from so many occurrences on; below, that of all symbols.
FEW = 50
#: Where more sequences were cut than the model draws as long, this is how many times as many count.
MOST_SCALED = 2.0


def generate(
    model: SuffixModel, rows: int, longest: int, generator: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the symbols of synthetic sequences, one after the other, and their lengths.

    Parameters
    ----------
    model
        What is drawn from: from the start, symbol by symbol, until the end is drawn.
    rows
        How many sequences.
    longest
        A sequence of this many symbols is cut.
    generator
        A NumPy generator.
    """
    from sfumato.sequence.generation_kernels import generate_block

    cumulative = _cumulative(model)
    lengths = np.zeros(rows, dtype=np.int64)
    history = np.zeros(max(model.depth, 1), dtype=np.int32)
    state = np.zeros(2, dtype=np.int64)
    pieces: list[NDArray[Any]] = [np.zeros(0, dtype=np.int32)]
    while state[1] < rows:
        # About as many as are needed, so that few rows cost little.
        size = min(BLOCK, max(64, 4 * (rows - int(state[1]))))
        uniforms = np.asarray(generator.random(size))
        symbols = np.empty(size, dtype=np.int32)
        written = generate_block(
            model.children, cumulative, uniforms, longest, history, state, symbols, lengths
        )
        pieces.append(symbols[:written])
    return np.concatenate(pieces), lengths


def _cumulative(model: SuffixModel) -> NDArray[np.float64]:
    """Return running sums that end in 1, with nothing of what cannot happen drawn by rounding."""
    sums = np.cumsum(model.probabilities, axis=1)
    sums /= sums[:, -1:]
    last = model.probabilities.shape[1] - 1 - np.argmax(model.probabilities[:, ::-1] > 0, axis=1)
    sums[np.arange(len(sums)), last] = 1.0
    sums[:, -1] = np.maximum(sums[:, -1], 1.0)
    return np.asarray(sums)


def extend_model(model: SuffixModel, limit: int, generator: np.random.Generator) -> SuffixModel:
    """Return a model whose counts of symbols include what lies behind the length limit.

    Parameters
    ----------
    model
        A model of sequences that were cut.
    limit
        How many symbols of a sequence were kept at most.
    generator
        A NumPy generator.

    Notes
    -----
    A cut sequence has no end, so that the model goes on where it was cut. How much more often each
    symbol occurs in whole sequences is told by sequences that the model draws; how many were cut,
    by how many more starts than ends were counted.
    """
    if limit > LARGEST_EXTENDED or model.sequences <= 0:
        return model
    longest = LONGER * limit
    symbols, lengths = _several(model, longest, generator)
    drawn = float((lengths >= limit).mean())
    if drawn == 0:
        return model
    cut = 1 - float(model.histograms[0, -1]) / model.sequences
    ends = np.cumsum(lengths)
    places = np.arange(len(symbols)) - np.repeat(ends - lengths, lengths)
    every = np.bincount(symbols, minlength=model.alphabet).astype(np.float64)
    kept = np.bincount(symbols[places < limit], minlength=model.alphabet).astype(np.float64)
    more = (every - kept + FEW * (every.sum() / kept.sum() - 1)) / (kept + FEW)
    scale = min(max(cut / drawn, 0.0), MOST_SCALED)
    return SuffixModel(model.children, model.histograms, model.symbols * (1 + scale * more))


def _several(
    model: SuffixModel, longest: int, generator: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return sequences until there are enough of them or of their symbols."""
    pieces = []
    rows = min(EXTENDED_ROWS // 10, EXTENDED_SYMBOLS // longest)
    drawn = total = 0
    while drawn < EXTENDED_ROWS and total < EXTENDED_SYMBOLS:
        pieces.append(generate(model, rows, longest, generator))
        drawn, total = drawn + rows, total + len(pieces[-1][0])
    symbols, lengths = zip(*pieces, strict=True)
    return np.concatenate(symbols), np.concatenate(lengths)
