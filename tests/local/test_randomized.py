import itertools
import math
from fractions import Fraction

import pytest

from sfumato import noise
from sfumato.local.randomized import RandomizedResponse
from sfumato.mechanisms.randomized import Randomized
from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.primitive import Change
from sfumato.privacy.record import record, replay
from tests.method_suite import AuditSuite


class TestAudit(AuditSuite):
    name = "report.RandomizedResponse"
    options = {"answers": ["yes", "no", "unsure"]}  # noqa: RUF012

    def audited_public(self):
        return self.method().public

    def halve_noise(self, monkeypatch):
        law = Randomized.log_probability
        monkeypatch.setattr(
            Randomized,
            "log_probability",
            lambda p, x, y: law(Randomized(answers=p.answers, epsilon=2 * p.epsilon), x, y),
        )

    def halve_sensitivity(self, monkeypatch):
        # It has none to declare; the nearest mistake is an answer that counts as no change.
        monkeypatch.setattr(
            Randomized, "change", lambda p, x, y: Change(Fraction(2 * (x != y)), 1, "answers")
        )

    def halve_drawn_noise(self, monkeypatch):
        draw = Randomized.draw
        monkeypatch.setattr(
            Randomized,
            "draw",
            lambda p, x, c: draw(Randomized(answers=p.answers, epsilon=2 * p.epsilon), x, c),
        )


SURVEY = RandomizedResponse(epsilon=1, answers=["yes", "no", "unsure"])


def report(answer):
    """Return a report as `perturb` does, with seeded bits, which `perturb` itself refuses."""
    return SURVEY.answers[record(SURVEY, SURVEY.own(answer))[0].outputs[0]]


def test_seeded_bits_make_no_report():
    with noise.seeded(1), pytest.raises(RuntimeError, match="cannot be marked as a test"):
        SURVEY.perturb("yes")
    assert SURVEY.perturb("yes") in SURVEY.answers


def test_the_exact_loss_over_all_answers_is_epsilon():
    primitive = Randomized(answers=4, epsilon=Fraction(3, 2))
    losses = [
        primitive.log_probability(x, y) - primitive.log_probability(z, y)
        for x, y, z in itertools.product(range(4), repeat=3)
    ]
    assert max(losses) == pytest.approx(1.5) and min(losses) == pytest.approx(-1.5)
    for truth in range(4):
        total = sum(math.exp(primitive.log_probability(truth, y)) for y in range(4))
        assert total == pytest.approx(1)


def test_replaying_a_report_on_another_answer():
    with noise.seeded(1):
        script = record(SURVEY, SURVEY.own("yes"))
    mirror = replay(SURVEY, SURVEY.own("no"), script)
    assert abs(script.loss_against(mirror)) <= 1 + 1e-12


def test_reports_tell_the_truth_as_often_as_they_should():
    # A deviation of 6 standard errors has a probability below 1e-8.
    with noise.seeded(9):
        reports = [report("yes") for _ in range(3000)]
    share = reports.count("yes") / 3000
    truth = math.e / (math.e + 2)
    assert abs(share - truth) < 6 * math.sqrt(truth * (1 - truth) / 3000)


def test_estimates_are_unbiased_and_within_their_margins():
    truth = {"yes": 300, "no": 100, "unsure": 0}
    with noise.seeded(10):
        reports = [report(answer) for answer, n in truth.items() for _ in range(n)]
    for estimate in SURVEY.estimate(reports):
        # Three margins are nearly six standard errors.
        assert abs(estimate.count - truth[estimate.answer]) < 3 * estimate.margin


def test_a_client_books_its_own_reports(tmp_path):
    ledger = Ledger.create(
        tmp_path / "me.ledger", allow=PureDP(1), unit="report", relation="replace_one"
    )
    SURVEY.perturb("no", ledger=ledger)
    assert ledger.history()[0].kind == "perturb"
    with pytest.raises(BudgetExceeded):
        SURVEY.perturb("no", ledger=ledger)


def test_an_unknown_answer_is_refused_and_not_repeated():
    with pytest.raises(ValueError, match="must be one of yes, no, unsure") as caught:
        SURVEY.perturb("my secret")
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="'maybe' is not one of the answers"):
        SURVEY.estimate(["maybe"])


def test_one_answer_and_no_reports():
    single = RandomizedResponse(epsilon=1, answers=["only"])
    assert single.perturb("only") == "only"
    assert [e.count for e in SURVEY.estimate([])] == [0.0, 0.0, 0.0]


def test_the_plan_tells_how_often_the_truth_is_told():
    assert "probability 0.576" in str(SURVEY.plan(SURVEY.public))
