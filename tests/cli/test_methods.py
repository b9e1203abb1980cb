"""Parameters of methods are options of the commands, derived from the classes of the methods."""

import os
import subprocess
import sys
from dataclasses import fields

import pytest

from sfumato.cli.graph import GRAPH
from sfumato.cli.methods import parameters_of
from sfumato.cli.points import POINTS
from sfumato.cli.regress import REGRESS
from sfumato.cli.sequences import SEQUENCES
from sfumato.cli.table import TABLE
from sfumato.privacy.registry import resolve

from .test_help import EVERY

KINDS = (TABLE, REGRESS, POINTS, SEQUENCES, GRAPH)
OFFERED = [(kind, name) for kind in KINDS for name in kind.methods.values()]


@pytest.mark.parametrize(("kind", "name"), OFFERED, ids=lambda item: getattr(item, "name", item))
def test_every_parameter_has_an_option_that_means_nothing_else(kind, name):
    found = parameters_of(name, kind.reserved)
    assert [facts.name for facts in found] == [item.name for item in fields(resolve(name))]
    own = {"epsilon", *(item.name for item in fields(kind.choice.parameters))}
    derived = {facts.option for facts in found if facts.name not in own}
    for verb in ("plan", "rehearse", kind.verb):
        taken = {word for item in dict(EVERY)[f"{kind.name} {verb}"].params for word in item.opts}
        assert not derived & taken
    assert all(facts.allowed for facts in found)
    assert len({facts.option for facts in found}) == len(found)


def test_completion_offers_the_parameters_of_the_named_method():
    program = "from sfumato.cli.main import main; main()"
    words = "sfumato table release --method privbayes --bin"
    environment = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "5"}
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **environment},
    ).stdout  # fmt: skip
    assert told.split() == ["--binner", "--bins", "--bins-share"]


def test_methods_under_names_of_their_own_take_further_parameters(run, tmp_path):
    (tmp_path / "g.txt").write_text("0 1\n1 2\n2 0\n", encoding="utf-8")
    words = ("graph", "count", "g.txt", "--nodes", "5", "--epsilon", "1", "--no-report", "--json")
    made = run(*words, "--out", "o", "--shape", "star", "-k", "2", "--mechanism", "laplace")
    assert made.code == 0
    assert (
        made.document["parameters"] | {"shape": "star", "k": 2, "mechanism": "laplace"}
        == (made.document["parameters"])
    )
    wrong = run(*words, "--out", "p", "--mechanism", "magic")
    assert wrong.code == 2 and "mechanism must be one of" in wrong.document["error"]["message"]
    wrong = run(*words, "--out", "p", "--orders", "1")
    assert "subgraphcount has no parameter 'orders'" in wrong.document["error"]["message"]
    keep = ("graph", "synthesize", "g.txt", "--nodes", "5", "--epsilon", "1", "--json")
    keep += ("--no-report", "--keep", "degrees", "--mechanism", "sorted", "--out", "q")
    assert run(*keep).document["parameters"]["mechanism"] == "sorted"
