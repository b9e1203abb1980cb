"""The page of a release of sequences: its picture, frequent strings, what its files hold.

Everything here is a function of the release; nothing is compared with the private data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.sections import Block, Commands, Facts, Grid, Listing, Picture, Section, Text
from sfumato.sequence.files import describe_used, string_text

if TYPE_CHECKING:
    from sfumato.data.sequences import SequencesPublic
    from sfumato.sequence.frequent_strings import FrequentStrings
    from sfumato.sequence.model import SequenceModel

#: How many strings are listed, and of how many symbols half as many more: single symbols crowd a
#: list.
MOST_STRINGS, LENGTH = 20, 3
#: Of more symbols than this only the first are named.
MOST_SYMBOLS = 60


def model_sections(release: SequenceModel) -> tuple[Section, ...]:
    """Return the sections for a model of sequences."""
    return (
        _tree(release),
        _strings(release),
        _use(),
        _codebook(release),
        _declared(release.public, release.limit),
    )


def strings_sections(release: FrequentStrings) -> tuple[Section, ...]:
    """Return the sections for a list of frequent strings."""
    rows = tuple(
        (str(place), string_text(release.public, string))
        for place, string in enumerate(release.strings[: 3 * MOST_STRINGS], start=1)
    )
    words = Text(
        "Strings of symbols, likely among the most frequent, in the order in which they were "
        f"chosen. Every choice was randomised, so that no one {release.public.unit} changes the "
        "list by much: a frequent string is likely to be here, a rare one may be here by chance. "
        "With few data the list may hold strings that do not occur at all. Their frequencies are "
        "not released."
    )
    blocks: tuple[Block, ...] = (words, Grid(("", "string"), rows, numbers=(0,)))
    return (
        Section("strings", "The strings", blocks, "strings.csv"),
        _declared(release.public, release.limit),
    )


def _tree(release: SequenceModel) -> Section:
    """Draw what follows what, and say in plain words what the picture is."""
    words = (
        "The model gives the probabilities of the next symbol after a context, which is the last "
        "few symbols. Contexts are longer where the data support it. Each line of the picture is "
        "a context; the bar shows its frequency, and the squares show the probability of each "
        "symbol, or of the end, after it. Noise was added to every count, so that no one "
        f"{release.public.unit} changes the model by much."
    )
    picture = Picture(
        "contexts",
        release.plot,
        "The most frequent contexts and the symbols after them; darker means more probable.",
    )
    return Section("contexts", "Symbols after each context", (Text(words), picture), "contexts.csv")


def _strings(release: SequenceModel) -> Section:
    """List the most frequent strings: of any length, and of three symbols."""
    blocks: list[Block] = [
        Text(
            "Frequencies of strings in the model, counted at every position. "
            f"{describe_used(release.public, release.limit)} Frequencies of longer strings are "
            "derived from shorter ones and are less certain."
        ),
        _grid(release.public, release.top(MOST_STRINGS)),
    ]
    longer = release.top(MOST_STRINGS // 2, LENGTH)
    if longer:
        blocks += [Text(f"Of {LENGTH} symbols:"), _grid(release.public, longer)]
    return Section("strings", "The most frequent strings", tuple(blocks), "top.csv, contexts.csv")


def _grid(public: SequencesPublic, found: list[tuple[tuple[str | int, ...], float]]) -> Grid:
    rows = tuple(
        (str(place), string_text(public, public.codes(string)), f"{count:,.0f}")
        for place, (string, count) in enumerate(found, start=1)
    )
    return Grid(("", "string", "occurs about"), rows, numbers=(0, 2))


def _use() -> Section:
    """Say what the model is good for, and what it is not."""
    points = (
        "The release gives the frequency of any string, the most frequent strings, the "
        "probabilities of the next symbol, and any number of synthetic sequences, without further "
        "privacy loss.",
        (
            "Each sampled sequence is synthetic. One that resembles a person's own reveals nothing "
            "about that person."
        ),
        "The model has no dependence between distant symbols: it uses only the symbols of a "
        "context.",
        "Sequences that were longer than the limit were cut, so that the ends of long ones are "
        "missing.",
    )
    commands = (
        "sfumato sequences top THIS-FOLDER -k 20 --length 3",
        "sfumato sequences sample THIS-FOLDER --rows 1000 --out sampled.txt",
        "python -c \"import sfumato as sf; print(sf.load('THIS-FOLDER').predict([]))\"",
    )
    return Section("use", "How to use it", (Listing(points), Commands(commands)), "contexts.csv")


def _codebook(release: SequenceModel) -> Section:
    """Say what the columns of the files mean."""
    rows = (
        ("contexts.csv", "context", "the last symbols, oldest first; (start) for the beginning"),
        ("contexts.csv", "next …", "how often the symbol follows the context"),
        ("contexts.csv", "end", "how often a sequence ends after the context"),
        ("top.csv", "string, symbols, count", "the most frequent strings, of any length"),
    )
    facts = Facts(
        (
            ("contexts", f"{release.model.nodes:,}, of up to {release.model.depth} symbols"),
            ("sequences that were used", f"about {release.total:,.0f}"),
            ("noise on a count", f"± {release.deviation:,.4g} (one standard deviation)"),
        )
    )
    grid = Grid(("file", "columns", "meaning"), rows)
    return Section("codebook", "What the files hold", (facts, grid), "contexts.csv, top.csv")


def _declared(public: SequencesPublic, limit: int) -> Section:
    """List the alphabet, which was declared before the release."""
    shown = ", ".join(str(symbol) for symbol in public.alphabet[:MOST_SYMBOLS])
    more = f" and {public.symbols - MOST_SYMBOLS} more" if public.symbols > MOST_SYMBOLS else ""
    facts = [
        ("symbols", f"{public.symbols:,}: {shown}{more}"),
        ("symbols of a sequence", f"the first {limit:,} were used, its end counted as one"),
    ]
    if public.contribution > 1:
        facts.append(("sequences of one person", f"at most {public.contribution} were used"))
    blocks: tuple[Block, ...] = (
        Text(
            "The alphabet was declared before the release, from public knowledge. It was not found "
            "in the data: which rare symbols occur is private."
        ),
        Facts(tuple(facts)),
    )
    return Section("declared", "What was declared about the sequences", blocks, "public.json")
