"""The page about an attack on genomic releases: what it shows, and where it is never written."""

import numpy as np
import pytest

from sfumato.attacks import GroupFrequencies, IdentityInference, MembershipInference, TraitInference
from sfumato.genomics.calls import Calls
from sfumato.report.genomic_attack import genomic_attack_page, save_genomic_attack
from tests.genomics.table19 import network


def outcomes():
    draw = np.random.default_rng(1)
    people = Calls(("rs1", "rs2"), draw.integers(0, 3, (20, 2)))
    group = GroupFrequencies.of(people)
    records = {"rs9394152-C": [0, 1, 2], "rs12913832-A": [2, 1, 0]}
    return (
        MembershipInference().run(people, people, {"exact": group}, group),
        TraitInference().run(network(cpt="lemma7"), records),
        IdentityInference(sizes=(1, 2)).simulate(network(), records, runs=3),
    )


@pytest.mark.parametrize("outcome", outcomes(), ids=lambda outcome: outcome.attack)
def test_a_page_shows_verdict_table_curve_and_meaning(outcome):
    page = genomic_attack_page(outcome)
    for shown in ("Do not publish", outcome.title, "What was found", "What was tried",
                  "What it means", "Verdict", "<svg", "guessing"):  # fmt: skip
        assert shown in page
    assert page == genomic_attack_page(outcome)
    if outcome.attack != "membership":
        assert "does not violate the guarantee" in page
    if outcome.attack == "traits":
        assert "not a probability distribution" in page


def test_a_page_is_not_written_into_a_release(tmp_path):
    outcome = outcomes()[0]
    assert save_genomic_attack(outcome, tmp_path / "page.html").is_file()
    (tmp_path / "certificate.json").write_text("{}")
    with pytest.raises(ValueError, match="not private"):
        save_genomic_attack(outcome, tmp_path / "other.html")
