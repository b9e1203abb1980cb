"""One edge more changes neither how the others are read nor what is public, whatever holds them.

The edge that is added may change the type of a column, the order, the width and the encoding. What
every edge must be read as is written down here once more, for one value, without the library.
"""

import gzip
import lzma
import os
import re
from decimal import Decimal

import duckdb
import igraph
import networkx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import sfumato as sf

#: Neighbours for each kind of source; a long run asks for more.
TRIALS = int(os.environ.get("SFUMATO_NEIGHBOURS", "200"))
#: Neighbours of one graph.
EACH = 5

WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
#: Values that change the type of what holds them, none of them with a separator or a comment sign.
ODD = [
    "x", "é", "日本", "07", "+7", "1e3", "1.50", "7.", "NA", "nan", "None", "true", "-", "0x1", "٣",
    3, -1, 2.0, 2.5, -0.0, 1e-7, 2**40, 2**62, 2**63, 2**64, 10**25, -(2**63), "9" * 30, "12.000",
]  # fmt: skip
PLAIN = {
    "whole numbers": list(range(8)),
    "doubles": [float(number) for number in range(8)],
    "texts": list("abcdefgh"),
    "texts of whole numbers": [str(number) for number in range(8)],
    "both": [0, 1, 2, "a", "b", "c", "2.0", "03"],
}


def name_of(value):
    """What one value is called as a node, by the rule in words."""
    text = str(value).strip()
    found = WHOLE.fullmatch(text)
    if found and -(2**63) <= int(found[1]) < 2**63:
        return int(found[1])
    return text


def edge_of(pair):
    return frozenset(map(name_of, pair))


def edges_of(graph):
    labels = graph.public.labels
    return {frozenset(labels[end] for end in pair) for pair in graph.counts.pairs().tolist()}


def in_polars(pairs):
    columns = {}
    for place, end in enumerate(("from", "to")):
        values = [pair[place] for pair in pairs]
        try:
            columns[end] = pl.Series(values)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            columns[end] = pl.Series(values, dtype=pl.Object)
    return pl.DataFrame(columns)


def in_arrow(pairs):
    columns = {}
    for place, end in enumerate(("from", "to")):
        values = [pair[place] for pair in pairs]
        try:
            columns[end] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            columns[end] = pa.array(list(map(str, values)))
    return pa.table(columns)


def in_networkx(pairs):
    # A graph keeps 1 and 1.0 as one node; a list of pairs does not.
    return networkx.MultiDiGraph([(left, right) for left, right in pairs])


def in_igraph(pairs):
    names = list(dict.fromkeys(str(end) for pair in pairs for end in pair))
    source = igraph.Graph(
        n=len(names), edges=[[names.index(str(end)) for end in pair] for pair in pairs]
    )
    source.vs["name"] = names
    return source


IN_MEMORY = {
    "list": list,
    "lists": lambda pairs: [list(pair) for pair in pairs],
    "array": np.array,
    "array of objects": lambda pairs: np.array(pairs, dtype=object),
    "pandas": lambda pairs: pd.DataFrame(pairs, columns=["from", "to"]),
    "pandas categories": lambda pairs: pd.DataFrame(pairs, dtype="category"),
    "polars": in_polars,
    "pyarrow": in_arrow,
    "duckdb": lambda pairs: duckdb.from_arrow(in_arrow(pairs)),
    "networkx": in_networkx,
    "igraph": in_igraph,
}


def lines(pairs, separator):
    return "".join(f"{left}{separator}{right}\n" for left, right in pairs).encode()


IN_FILES = {
    "blanks.txt": lambda path, pairs: path.write_bytes(lines(pairs, " ")),
    "tabs.tsv": lambda path, pairs: path.write_bytes(lines(pairs, "\t")),
    "packed.txt.gz": lambda path, pairs: path.write_bytes(gzip.compress(lines(pairs, " "))),
    "packed.txt.xz": lambda path, pairs: path.write_bytes(lzma.compress(lines(pairs, ";"))),
}
IN_TABLES = {
    "table.csv": lambda path, pairs: path.write_bytes(b"from,to\n" + lines(pairs, ",")),
    "table.parquet": lambda path, pairs: (
        in_polars(pairs)
        .with_columns(pl.col(pl.Object).map_elements(str, return_dtype=pl.String))
        .write_parquet(path)
    ),
}


def neighbours(seed):
    """Return some edges, and further ones, each with where it is put."""
    draw = np.random.default_rng(seed)
    names = PLAIN[draw.choice(list(PLAIN))]
    pairs = [tuple(names[place] for place in draw.integers(8, size=2)) for _ in range(6)]
    further = []
    for _ in range(EACH):
        odd = tuple(ODD[place] for place in draw.integers(len(ODD), size=2))
        one = (names[draw.integers(8)], odd[1]) if draw.integers(2) else odd
        further.append((one, int(draw.integers(7))))
    return pairs, further, draw


def check_pairs(build, seed):
    """Compare what is read of a graph and of its neighbours."""
    pairs, further, draw = neighbours(seed)
    everyone = [*pairs, *(one for one, _ in further)]
    declared = list({name_of(end) for pair in everyone for end in pair} | {"nobody", 99})
    order = tuple(sorted(declared, key=lambda name: (isinstance(name, str), name)))
    draw.shuffle(declared)
    here, least = build(pairs, declared), build(pairs, "named")
    truth = {edge_of(pair) for pair in pairs if len(edge_of(pair)) == 2}
    assert here.public.labels == order and edges_of(here) == truth
    check_names(least, pairs, order)
    for one, place in further:
        more = [*pairs[:place], one, *pairs[place:]]
        refusal = ""
        try:
            there = build(more, declared)
            named = build(more, "named")
        except sf.DataError as refused:
            refusal = str(refused)
        if refusal:
            # What holds the edges changed the value of that one beyond recognition, and no other.
            assert re.search(rf"row {place + 1}\b(?! and)", refusal), refusal
            continue
        assert there.public == here.public and not there.public.named_by_edges
        added = {edge_of(one)} if len(edge_of(one)) == 2 else set()
        assert edges_of(there) == truth | added == edges_of(named)
        check_names(named, more, order)


def check_names(graph, pairs, order):
    """Demand that a graph that took its nodes from its edges says so and orders them by name."""
    found = {name_of(end) for pair in pairs for end in pair}
    assert graph.public.named_by_edges
    assert graph.public.labels == tuple(name for name in order if name in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", IN_MEMORY)
def test_an_edge_more_in_memory(kind):
    make = IN_MEMORY[kind]
    for seed in range(TRIALS // EACH):
        check_pairs(lambda pairs, nodes: sf.Graph(make(pairs), nodes), seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*IN_FILES, *IN_TABLES])
def test_an_edge_more_in_a_file(kind, tmp_path):
    path = tmp_path / kind
    columns = ["from", "to"] if kind in IN_TABLES else None
    write = IN_TABLES[kind] if kind in IN_TABLES else IN_FILES[kind]

    def build(pairs, nodes):
        write(path, pairs)
        skip = 0 if columns is None else None
        return sf.read_graph(path, nodes, columns=columns, skip_lines=skip)

    for seed in range(TRIALS // EACH):
        check_pairs(build, seed)


@pytest.mark.parametrize("kind", ["coo_array", "csr_array", "csc_matrix", "dense"])
def test_an_entry_more_in_a_matrix(kind):
    """Entries may be at one place, stored as 0, of another type, and in any order."""
    for seed in range(TRIALS):
        draw = np.random.default_rng(seed)
        entries = [(*draw.integers(5, size=2), draw.integers(3)) for _ in range(6)]
        one = (*draw.integers(5, size=2), [0.5, 0, 2**40, True, 1e-300, 1][draw.integers(6)])
        place = int(draw.integers(7))
        found = []
        for given in (entries, [*entries[:place], one, *entries[place:]]):
            rows, columns, weights = map(list, zip(*given, strict=True))
            matrix = sparse.coo_array((np.array(weights), (rows, columns)), shape=(5, 5))
            source = matrix.toarray() if kind == "dense" else getattr(sparse, kind)(matrix)
            graph = sf.Graph(source, 5, adjacency=kind == "dense")
            assert graph.public == sf.Graph([], 5).public
            found.append({tuple(pair) for pair in graph.counts.pairs().tolist()})
        added = tuple(sorted(map(int, one[:2])))
        expected = {added} if one[2] and added[0] != added[1] else set()
        assert found[1] == found[0] | expected


def test_numbers_are_read_alike_whatever_the_others_are():
    """The repaired fault: one text made all whole numbers texts, in another order."""
    alone, beside = (sf.Graph(pairs, "named").public.labels
                     for pairs in ([(10, 9)], [(10, 9), (9, "x")]))  # fmt: skip
    assert alone == (9, 10) and beside == (9, 10, "x")


@pytest.mark.parametrize("frame", [in_polars, in_arrow])
def test_a_decimal_is_read_alike_whatever_decimals_the_others_have(frame):
    pairs = [(Decimal("7.5"), Decimal(7)), (Decimal("-0.25"), Decimal(100))]
    more = [*pairs, (Decimal("1.5555"), Decimal("2.50"))]
    alone, beside = (sf.Graph(frame(found), "named") for found in (pairs, more))
    assert alone.public.labels == (7, 100, "-0.25", "7.5")
    assert beside.public.labels == (7, 100, "-0.25", "1.5555", "2.5", "7.5")
    assert edges_of(alone) < edges_of(beside)


def test_a_header_is_declared_and_never_guessed(tmp_path):
    path = tmp_path / "calls.csv"
    path.write_text("from,to\n1,2\n2,3\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"say whether calls\.csv has a header"):
        sf.read_graph(path, "named")
    for declared in ({"skip_lines": 1}, {"columns": ["from", "to"]}):
        assert sf.read_graph(path, "named", **declared).public.labels == (1, 2, 3)
    words = sf.read_graph(path, "named", skip_lines=0).public.labels
    assert words == (1, 2, 3, "from", "to")
    with pytest.raises(sf.DataError, match="row 1"):
        sf.read_graph(path, 4)
    assert sf.read_graph(path, 4, skip_lines=1).counts.edges == 2
    assert sf.read_graph(path, 4, skip_lines=9).counts.edges == 0
    for wrong in (-1, 1.0, True):
        with pytest.raises(ValueError, match="skip_lines must be"):
            sf.read_graph(path, 4, skip_lines=wrong)
    with pytest.raises(ValueError, match="skip_lines is for edge lists"):
        sf.read_graph(path, 4, skip_lines=1, columns=["from", "to"])
