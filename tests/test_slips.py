"""Slips of a custodian's hand: data in the wrong place, names that command, former names."""

import random
from collections import namedtuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.audit import Pair
from sfumato.local import MeanResponse
from sfumato.noise.exact import briefly
from sfumato.privacy import door
from sfumato.privacy.program import DoesNotFollow
from sfumato.privacy.saved import verify

CANARY = "QZCANARYZQ"
FRAME = pd.DataFrame({"diag": [CANARY, f"{CANARY}2"], "age": [41, 42]})


@pytest.mark.parametrize(
    "slip",
    [
        FRAME,
        FRAME["diag"],
        pl.from_pandas(FRAME),
        pl.from_pandas(FRAME)["diag"],
        pl.from_pandas(FRAME).to_arrow(),
        FRAME.to_numpy(),
        [FRAME["diag"]],
    ],
    ids=lambda slip: type(slip).__module__,
)
def test_data_given_as_a_parameter_are_not_repeated(slip):
    assert CANARY not in briefly(slip)
    with pytest.raises(ValueError, match="targets must be") as caught:
        sf.ManyResponses(epsilon=1, targets=slip)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("number", [3, 2.5, np.float64(2.5), np.int64(3), "x"])
def test_a_number_or_a_text_is_repeated(number):
    assert briefly(number) == (repr(number) if isinstance(number, str) else str(number))


def test_a_notebook_shows_no_value_of_a_draft_that_nobody_confirmed():
    draft = sf.Schema.draft(FRAME)
    assert CANARY not in draft._repr_html_()
    assert CANARY in draft.confirm(unit="row")._repr_html_()


def test_what_a_function_of_the_user_raises_in_a_query_is_not_passed_on():
    def fail(text):
        raise ValueError(text)

    words = pl.LazyFrame({"age": ["41", CANARY]})
    query = words.with_columns(pl.col("age").map_elements(fail, return_dtype=pl.Int64))
    with pytest.raises(sf.DataError) as caught:
        sf.Table(query, {"age": (0, 120, 16)})
    error = caught.value
    assert CANARY not in str(error) and error.__cause__ is None and error.__context__ is None


def test_a_row_with_columns_called_kind_and_assumptions_is_no_public_part():
    row = namedtuple("row", ["kind", "assumptions"])(CANARY, "x")
    for call in (sf.Synthesizer(epsilon=1).plan, lambda r: sf.rehearse(sf.Marginals(epsilon=1), r)):
        with pytest.raises(TypeError) as caught:
            call(row)
        assert CANARY not in str(caught.value)


def test_the_error_about_a_private_number_keeps_no_copy_of_it():
    with pytest.raises(ValueError, match="private") as caught:
        MeanResponse(epsilon=1, low=0, high=1).perturb(CANARY)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["$(touch pwned)", "`touch pwned`", "a\\b", "a!b"])
def test_a_page_gives_no_command_that_a_name_wrote(name, tmp_path):
    schema = sf.Schema.from_dict({name: ["a", "b"]})
    table = sf.Table(pd.DataFrame({name: ["a", "b"]}), schema)
    written = name.replace("\\", "\\\\")
    method = sf.TableStatistic(epsilon=1, expression=f"sum(counts('{written}'))")
    try:
        release = method.release(table)
    except ValueError:
        pytest.skip("a formula cannot name this column")
    folder = release.save(tmp_path / "out")
    page = sf.save_report(folder).read_text(encoding="utf-8")
    (command,) = [line for line in page.splitlines() if ".also(" in line]
    assert "FORMULA" in command and "pwned" not in command


def test_an_audit_that_refutes_says_so_wherever_on_the_curve_it_does():
    draw = random.Random(1)
    chances = {"a0": 0, "a1": 0.1, "b0": 0.09, "b1": 0.91}
    outcome = sf.audit(
        lambda data: float(draw.random() < chances[data]),
        [Pair("rare", "a0", "a1"), Pair("gross", "b0", "b1")],
        claimed=sf.ZCDP("0.7"),
        trials=4000,
        seed=1,
    )
    assert outcome.refuted
    assert outcome.words().startswith("REFUTED") and "'gross'" in outcome.words()
    assert outcome.telling.sampled.refuted


def test_a_release_booked_under_a_former_name_and_recovered_is_that_of_its_ledger(
    tmp_path, monkeypatch
):
    points = sf.Points(np.array([[0.1, 0.2], [0.7, 0.8]]), bounds=[(0, 1), (0, 1)])
    ledger = tmp_path / "a.ledger"
    sf.Ledger.create(ledger, allow=sf.PureDP(3), unit="point")
    now = sf.PrivTree.parameters
    with monkeypatch.context() as patch:
        patch.setattr(
            sf.PrivTree,
            "parameters",
            lambda method: {
                "noise" if name == "variant" else name: value for name, value in now(method).items()
            },
        )
        sf.PrivTree(epsilon=1, levels=2).release(points, ledger=ledger)
    folder = sf.Ledger.open(ledger).recover(1).save(tmp_path / "out")
    outcome = verify(folder, ledger=sf.Ledger.open(ledger))
    assert outcome.passed, str(outcome)


def test_an_answer_through_a_refuted_ladder_does_not_pass_for_a_proved_one():
    graph = sf.Graph([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], nodes=6)
    options = {"epsilon": 1, "shape": "k-triangle", "k": 3}
    printed = sf.SubgraphCount(**options, variant="published", accept_unproven=True)
    release = printed.release(graph)
    origin = release.provenance
    specification = door.Specification.of(sf.SubgraphCount(**options), origin.public)
    with pytest.raises(DoesNotFollow):
        door.build(specification, release.transcript, time=origin.time, ledger=None)
