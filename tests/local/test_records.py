"""Several questions of one person: what a record costs, its reports, and tables of them."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato import noise
from sfumato.local import MultiResponse, RandomizedResponse, RecordTally, SubsetSelection
from sfumato.local.client_data import OwnRecord, OwnRecords, RecordPublic, RecordsPublic
from sfumato.local.multi_response import best_kind, best_sharing, mean_variances
from sfumato.mechanisms.local_response import LocalResponse
from sfumato.mechanisms.one_question import OneQuestion
from sfumato.mechanisms.randomized import Randomized
from sfumato.privacy import door
from sfumato.privacy.budget import Sampler
from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.primitive import Change
from tests.method_suite import AuditSuite

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

QUESTIONS = {"smokes": ["yes", "no"], "age": ["young", "middle", "old"]}


def survey(how, epsilon=2, **options):
    return MultiResponse(epsilon=epsilon, questions=QUESTIONS, how=how, **options)


class RecordAudit(AuditSuite):
    name = "record.MultiResponse"

    def audited_public(self):
        return self.method().public

    def halve_noise(self, monkeypatch):
        law = Randomized.log_law
        monkeypatch.setattr(
            Randomized,
            "log_law",
            lambda p, x, y: law(Randomized(answers=p.answers, epsilon=2 * p.epsilon), x, y),
        )

    def halve_sensitivity(self, monkeypatch):
        for kind in (LocalResponse, OneQuestion):
            monkeypatch.setattr(
                kind, "change", lambda p, x, y: Change(Fraction(2 * (x != y)), 1, "records")
            )

    def halve_drawn_noise(self, monkeypatch):
        draw = Randomized.draw
        monkeypatch.setattr(
            Randomized,
            "draw",
            lambda p, value, choices: draw(
                Randomized(answers=p.answers, epsilon=2 * p.epsilon), value, choices
            ),
        )


class TestSplitAudit(RecordAudit):
    options = {"questions": QUESTIONS, "how": "split"}  # noqa: RUF012
    sampled = False


class TestSampleAudit(RecordAudit):
    options = {"questions": QUESTIONS, "how": "sample"}  # noqa: RUF012
    random_neighbours = 50


class TestJointAudit(RecordAudit):
    options = {"questions": QUESTIONS, "how": "joint", "design": "RandomizedResponse"}  # noqa: RUF012
    sampled = False


def laws(method):
    """Return the exact probability of every report of a method, given a record."""
    if method.sharing == "sample":
        primitive = method._one_question()
        outputs = [
            (u, y) for u in range(len(method.questions)) for y in primitive.response(u).outputs()
        ]

        def chance(x, y):
            inner = primitive.response(y[0]).probability(x[y[0]], y[1])
            return inner / len(method.questions)

    elif method.sharing == "joint":
        (design,) = method.parts.values()
        outputs = list(design.primitive.outputs())

        def chance(x, y):
            code = int(np.ravel_multi_index(x, method.public.sizes))
            return design.primitive.probability(code, y)

    else:
        parts = [design.primitive for design in method.parts.values()]
        outputs = list(product(*(part.outputs() for part in parts)))

        def chance(x, y):
            return math.prod(p.probability(a, b) for p, a, b in zip(parts, x, y, strict=True))

    return outputs, chance


@pytest.mark.parametrize("design", ["RandomizedResponse", "UnaryEncoding", "SubsetSelection"])
@pytest.mark.parametrize("how", ["split", "sample", "joint"])
def test_the_whole_output_law_stays_within_epsilon_for_the_record(how, design):
    method = survey(how, epsilon=1, design=design)
    outputs, chance = laws(method)
    records = list(product(*map(range, method.public.sizes)))
    worst = 0.0
    for output in outputs:
        found = [chance(x, output) for x in records]
        worst = max(worst, math.log(max(found) / min(found)))
    for x in records:
        assert sum(chance(x, output) for output in outputs) == 1
    assert 1 - 1e-9 < worst <= 1


def test_a_record_answered_at_epsilon_each_costs_the_sum(tmp_path):
    ledger = Ledger.create(
        tmp_path / "me.ledger", allow=PureDP(3), unit="report", relation="replace_one"
    )
    method = survey("split", epsilon=3)
    assert [design.loss() for design in method.parts.values()] == [PureDP("3/2")] * 2
    method.perturb({"smokes": "no", "age": "old"}, ledger=ledger)
    assert ledger.spent == PureDP(3)
    with pytest.raises(BudgetExceeded):
        method.perturb({"smokes": "no", "age": "old"}, ledger=ledger)


def test_reports_name_their_parts():
    answers = {"smokes": "no", "age": "old"}
    assert set(survey("split").perturb(answers)) == {"smokes", "age"}
    assert len(survey("sample").perturb(answers)) == 1
    joint = survey("joint", design="RandomizedResponse").perturb(answers)
    assert set(joint) == {"smokes*age"} and int(joint["smokes*age"]) in range(6)
    sure = survey("joint", epsilon=60, design="RandomizedResponse").perturb(answers)
    assert sure == {"smokes*age": "5"}


def drawn(method, codes, seed):
    """Return reports as `perturb_all` does, with seeded bits, which that refuses."""
    own = method.own(codes)
    with noise.seeded(seed):
        transcript = door.run(method, own, Sampler())
    return door.rebuild_from_transcript(method, own.public, transcript)


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(12)
    held = np.array([0.25, 0.2, 0.05, 0.1, 0.15, 0.25])
    return np.stack(np.unravel_index(rng.choice(6, 60_000, p=held), (2, 3)), axis=1)


@pytest.mark.parametrize(
    ("how", "design"),
    [
        *product(
            ["split", "sample", "joint"], ["RandomizedResponse", "UnaryEncoding", "SubsetSelection"]
        ),
        ("split", "LocalHash"),
        ("sample", "LocalHash"),
    ],
)
def test_shares_are_unbiased_and_vary_as_they_say(how, design, codes):
    # Five shares and six cells in fourteen variants, 6 standard deviations each: below 1e-6.
    method = survey(how, design=design)
    tally = RecordTally.empty(method).add(drawn(method, codes, 5))
    assert tally.clients == len(codes)
    for place, (name, answers) in enumerate(method.questions):
        truth = np.bincount(codes[:, place], minlength=len(answers)) / len(codes)
        shares = tally.shares(name)
        of = "population" if how == "sample" else "sample"
        assert abs((shares.unbiased - truth) / shares.deviations(of)).max() < 6
        assert tally.shares(name, "project").estimates.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("how", "design"),
    [
        ("split", "RandomizedResponse"),
        ("joint", "RandomizedResponse"),
        ("joint", "UnaryEncoding"),
        ("joint", "SubsetSelection"),
    ],
)
def test_tables_of_several_questions_are_unbiased(how, design, codes):
    method = survey(how, design=design, tables=True)
    tally = RecordTally.empty(method, [("age", "smokes")]).add(drawn(method, codes, 6))
    table = tally.table(["age", "smokes"])
    truth = np.zeros((3, 2))
    np.add.at(truth, (codes[:, 1], codes[:, 0]), 1 / len(codes))
    off = (table.unbiased - truth) / table.deviations("sample")
    assert abs(off).max() < 6
    projected = tally.table(["age", "smokes"], project=True).estimates
    assert projected.min() >= 0 and projected.sum() == pytest.approx(1)
    frame = table.to_frame()
    assert frame.columns[:2] == ["age", "smokes"] and frame.height == 6
    low, high = np.moveaxis(table.intervals(1 - 1e-9), -1, 0)
    assert ((low <= truth) & (truth <= high)).all()
    np.testing.assert_allclose(table.margin(["smokes"]), table.estimates.sum(axis=0))


def test_parts_of_a_tally_add_up_and_go_through_plain_files(codes):
    method = survey("split", tables=True)
    reports = drawn(method, codes[:50], 1)
    plain = [
        {name: part.plain()[place] for name, part in reports.parts.items()} for place in range(50)
    ]
    empty = RecordTally.empty(method, [("smokes", "age")])
    whole = empty.add(reports)
    again = RecordTally.from_json((empty.add(plain[:20]) + empty.add(plain[20:])).to_json())
    assert again.to_json() == whole.to_json() and again.clients == 50
    assert whole.tables["smokes", "age"].sum() == 50


def test_a_seeded_run_is_the_same_again_and_refused_as_a_report(codes):
    method = survey("sample")
    first, second = (drawn(method, codes[:100], 3) for _ in range(2))
    for name in method.parts:
        np.testing.assert_array_equal(first.parts[name].rows, second.parts[name].rows)
    assert sum(len(part) for part in first.parts.values()) == 100
    with noise.seeded(1), pytest.raises(RuntimeError, match="cannot be marked as a test"):
        method.perturb_all(codes[:3])
    assert len(method.perturb_all(codes[:3])) == 3
    assert len(method.perturb_all(codes[:0])) == 0


def test_questions_are_chosen_evenly():
    # 6 standard errors of 6,000 choices among three.
    primitive = OneQuestion(
        answers=(2, 2, 2), responses=(Randomized.kind,) * 3, set_sizes=(0, 0, 0), epsilon=1
    )
    with noise.seeded(4):
        alone = [primitive.sample((0, 1, 0))[0] for _ in range(6000)]
        together = primitive.sample(np.zeros((6000, 3), dtype=np.int64))[0]
    for chosen in (alone, together):
        shares = np.bincount(chosen, minlength=3) / 6000
        assert abs(shares - 1 / 3).max() < 6 * math.sqrt(2 / 9 / 6000)


def test_how_epsilon_is_shared_follows_the_arithmetic():
    # A part of ε for each of s questions costs s² times the variance, one in s people s times.
    assert best_sharing((2, 3), 1) == "sample"
    assert best_sharing((6, 3), 1, tables=True) == "joint"
    assert best_sharing((6, 3), 60) != "sample"
    assert survey("auto", epsilon=1).sharing == "sample"
    found = mean_variances((6, 3), 1, tables=True)
    # 248 people: 0.421 by splitting; jointly 0.0279 by telling, and less by unary encoding.
    assert found["split"] / 248 == pytest.approx(0.421, abs=5e-4)
    assert found["joint"] / 248 < 0.0279
    assert best_kind(4, 1) == "RandomizedResponse" and best_kind(20, 1) == "SubsetSelection"
    assert best_kind(1, 1) == "RandomizedResponse"
    assert best_kind(5000, 1) == "LocalHash" and best_kind(5000, 1, sums=True) == "UnaryEncoding"
    assert "joint" not in mean_variances((1000, 1000), 1)
    method = MultiResponse(epsilon=1, questions={"only": ["yes"]}, how="split")
    assert method.perturb({"only": "yes"}) == {"only": "yes"}


def test_designs_follow_what_is_wanted():
    many = {"city": [str(n) for n in range(40)], "smokes": ["yes", "no"]}
    method = MultiResponse(epsilon=2, questions=many, how="split")
    assert [type(design) for design in method.parts.values()] == [
        SubsetSelection,
        RandomizedResponse,
    ]
    tabled = MultiResponse(epsilon=2, questions=many, how="split", tables=True)
    assert {type(design) for design in tabled.parts.values()} == {RandomizedResponse}
    assert "a set of" not in str(tabled.plan(tabled.public)).lower()


def test_plans_tell_what_each_part_costs():
    steps = survey("split").plan(survey("split").public).steps
    assert [step.loss for step in steps] == [PureDP(1), PureDP(1)]
    (step,) = survey("sample").plan(survey("sample").public).steps
    assert step.loss == PureDP(2) and "one of 2 questions" in step.what
    (step,) = survey("joint").plan(survey("joint").public).steps
    assert step.loss == PureDP(2)


def test_parameters_and_public_parts_go_through_plain_files():
    method = survey("split", epsilon="1/3", tables=True)
    assert MultiResponse.from_parameters(method.parameters()) == method
    public = method.public
    assert RecordPublic.from_json(public.to_json()) == public
    many = OwnRecords(np.array([[0, 1]]), method.questions).public
    assert RecordsPublic.from_json(many.to_json()) == many and "1 reported" in many.assumptions()[1]


def test_what_does_not_fit_is_refused_without_being_shown():
    method = survey("split")
    for bad in ({"smokes": "no"}, {"smokes": "no", "age": "old", "more": "x"}, "no"):
        with pytest.raises(ValueError, match="one answer for each of the questions smokes, age"):
            method.perturb(bad)
    with pytest.raises(ValueError, match="must be one of young, middle, old") as caught:
        method.perturb({"smokes": "no", "age": "secret"})
    assert "secret" not in str(caught.value)
    for bad in (np.zeros(3, dtype=int), np.zeros((3, 3), dtype=int), np.zeros((3, 2))):
        with pytest.raises(ValueError, match="whole numbers are needed"):
            method.perturb_all(bad)
    with pytest.raises(ValueError, match="not shown") as caught:
        method.perturb_all(np.array([[0, 77]]))
    assert "77" not in str(caught.value)
    own = OwnRecord({"smokes": "no", "age": "old"}, method.public)
    assert "old" not in repr(own) and own.digest(b"k") != own.digest(b"l")


def test_tables_that_cannot_be_made_are_refused_before_anything_is_collected():
    with pytest.raises(ValueError, match="so tables of several questions cannot be estimated"):
        survey("sample", tables=True)
    with pytest.raises(ValueError, match="LocalHash does not support"):
        survey("joint", design="LocalHash")
    with pytest.raises(ValueError, match="one answer, so tables"):
        RecordTally.empty(survey("sample"), [("smokes", "age")])
    with pytest.raises(ValueError, match="tables=True"):
        RecordTally.empty(survey("split", design="UnaryEncoding"), [("smokes", "age")])
    with pytest.raises(ValueError, match="distinct questions"):
        RecordTally.empty(survey("split"), [("smokes", "smokes")])
    tally = RecordTally.empty(survey("split", tables=True))
    with pytest.raises(ValueError, match="not counted together"):
        tally.table(["smokes", "age"])
    with pytest.raises(ValueError, match="'height' is not a question"):
        tally.shares("height")
    with pytest.raises(ValueError, match="must name all of smokes, age"):
        tally.add([{"smokes": "yes"}])
    with pytest.raises(ValueError, match="another method"):
        tally.add(survey("split").perturb_all(np.array([[0, 0]])))
    with pytest.raises(ValueError, match="can be added"):
        tally + RecordTally.empty(survey("split"))
    for bad in ({}, {"a": []}, {"a": "yes"}, {"a*b": ["yes"]}, {"a": ["x", "x"]}, 3):
        with pytest.raises(ValueError, match="questions must be a non-empty mapping"):
            MultiResponse(epsilon=1, questions=bad)
    wide = {"a": [str(n) for n in range(300)], "b": [str(n) for n in range(300)]}
    with pytest.raises(ValueError, match="at most 65,536 combinations"):
        MultiResponse(epsilon=1, questions=wide, how="joint")
