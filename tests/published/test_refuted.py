"""The page of refuted claims has the numbers that are computed, and ledgers refuse its variants."""

import math
import re
from pathlib import Path

import polars as pl
import pytest
from benchmarks import refuted

import sfumato as sf
from sfumato.local.graph_collection import GraphCollection
from sfumato.privacy.guarantee import Basis
from sfumato.privacy.registry import find_published

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "refuted.md").read_text()
ROW = re.compile(
    r"^\| \[(\S+)\]\(#\1\) \| (.+) \| (.+) \| (\S+) \| (\S+) \|$",
    re.MULTILINE,
)
ROWS = {name: rest for name, *rest in ROW.findall(PAGE)}
PUBLISHED = {"variant": "published", "accept_unproven": True}

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay


def read(number):
    return math.inf if number == "∞" else float(number)


def test_the_page_lists_all_exhibits_with_a_section_and_a_command_each():
    assert sorted(ROWS) == sorted(refuted.EXHIBITS)
    for name in ROWS:
        (section,) = re.findall(rf"^### {name}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
        assert "*Counterexample.*" in section
        assert f"`python benchmarks/refuted.py {name}`" in section


@pytest.mark.parametrize("name", refuted.EXHIBITS)
def test_a_claim_is_exceeded_by_the_number_of_the_page(name):
    item = refuted.EXHIBITS[name]
    where, bounded, claimed, reached = ROWS[name]
    assert (where, bounded) == (item.where, item.bounded)
    allowed, found = item.measure()
    assert found > allowed
    assert (allowed, found) == pytest.approx((read(claimed), read(reached)), rel=1e-5)


def test_the_script_shows_what_is_named_and_refuses_other_names(capsys):
    assert refuted.main(["wavelet-range"]) == 0
    assert "30 claimed, 31 reached" in capsys.readouterr().out
    assert refuted.main(["no-such-claim"]) == 2
    assert "there are: " in capsys.readouterr().out


TABLE = sf.Table(pl.DataFrame({"x": [0.5], "y": [0.5]}), sf.Schema.from_dict(refuted.REALS))
GRAPH = sf.Graph([(0, 1)], nodes=3)
VARIANTS = {
    "dp-1k": (sf.DKGraph(epsilon=1, order=1, **PUBLISHED), GRAPH),
    "dp-2k": (sf.DKGraph(epsilon=1, order=2, delta="0.01", **PUBLISHED), GRAPH),
    "3-triangles": (sf.SubgraphCount(epsilon=1, shape="k-triangle", k=3, **PUBLISHED), GRAPH),
    "lnpp": (sf.Spectrum(epsilon=1, mechanism="lnpp", **PUBLISHED), GRAPH),
    "sbmf": (sf.Spectrum(epsilon=6, k=1, mechanism="sbmf", **PUBLISHED), GRAPH),
    "graph-collection": (GraphCollection(epsilon=1, **PUBLISHED), GRAPH),
    "privbayes": (sf.PrivBayes(epsilon=1, **PUBLISHED), TABLE),
    "robust-regression": (sf.RobustLinearRegression(epsilon=1, target="y", **PUBLISHED), TABLE),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_no_ledger_books_a_published_variant(name, tmp_path):
    method, data = VARIANTS[name]
    assert name in ROWS
    assert method.guarantee(data.public).basis is Basis.PUBLISHED
    ledger = sf.Ledger.create(
        tmp_path / "a.ledger", allow=sf.ApproxDP(9, "0.1"), unit=data.public.unit.value
    )
    with pytest.raises(ValueError, match="proof of privacy does not hold"):
        method.release(data, ledger=ledger)
    assert ledger.spent.epsilon == 0


def test_what_methods_name_is_in_the_museum():
    """Methods look up `module:name` of `sfumato.published`, written in their code."""
    source = ROOT / "src" / "sfumato"
    papers = {path.stem for path in (source / "published").glob("[a-z]*.py")} - {"queries"}
    place = re.compile(rf'"((?:{"|".join(papers)}):\w+)"')
    named = {name for path in source.rglob("*.py") for name in place.findall(path.read_text())}
    assert {name.partition(":")[0] for name in named} == papers
    assert all(callable(find_published(name)) for name in named)
