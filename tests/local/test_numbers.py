import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.local import MeanResponse, PiecewiseMean
from sfumato.local.choice import best_mean
from sfumato.local.client_data import OwnNumber
from sfumato.local.reports import Reports
from sfumato.mechanisms.local_matrix import within
from sfumato.noise.choices import WordChoices
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.primitive import Change
from tests.local.enumerating import exact_law
from tests.method_suite import AuditSuite

KINDS = [MeanResponse, PiecewiseMean]
EACH = pytest.mark.parametrize("kind", KINDS)


@EACH
@pytest.mark.parametrize("steps", [1, 6, 7])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 4, 70])
def test_the_full_law_of_the_client_is_the_declared_one(kind, steps, epsilon):
    # Exact: the mean report is a straight line, and no two numbers are told apart beyond e^ε.
    primitive = kind(epsilon=epsilon, low=-1, high=1, steps=steps).primitive
    start, slope = primitive.line()
    laws = [exact_law(primitive, value) for value in range(steps + 1)]
    for value, law in enumerate(laws):
        assert sum(law.values()) == 1
        assert law == {report: primitive.probability(value, report) for report in law}
        assert sum(report * share for report, share in law.items()) == start + slope * value
        squared = sum(report**2 * share for report, share in law.items())
        assert squared == primitive.square(value)
        assert primitive.spread(value) == (squared - (start + slope * value) ** 2) / slope**2
    for report in primitive.outputs():
        shares = [law[report] for law in laws]
        assert within(max(shares) / min(shares), primitive.epsilon) or max(shares) == min(shares)


@EACH
def test_many_clients_report_as_one_does(kind):
    primitive = kind(epsilon=1, low=0, high=1, steps=100).primitive
    codes = np.arange(101)
    with noise.seeded(4):
        together = primitive.draw_all(codes)
    with noise.seeded(4) as source:
        choices = WordChoices(lambda: int(source.words(1)[0]))
        alone = [primitive.draw(code, choices) for code in codes.tolist()]
    assert together.tolist() == alone


@EACH
@pytest.mark.parametrize("epsilon", [0.5, 3])
def test_estimates_are_unbiased_with_the_stated_variance(kind, epsilon):
    design = kind(epsilon=epsilon, low=-2, high=10)
    values = np.linspace(-2, 4, 50_000)
    steps = OwnNumber(values, design.public).input
    spread = np.mean([design.variance(at, 1).sample for at in np.linspace(-2, 4, 101)])
    with noise.seeded(6):
        means = [
            design.estimate(Reports(design, design.primitive.draw_all(steps))).mean
            for _ in range(10)
        ]
    scores = (np.array(means) - values.mean()) / math.sqrt(spread / values.size)
    # Six standard deviations: below 1e-6 for all together.
    assert np.abs(scores).max() < 6 and abs(scores.mean()) < 6 / math.sqrt(10)


def test_duchi_has_the_closed_form():
    # On [−1, 1] the variance is ((e^ε + 1)/(e^ε − 1))² − x².
    for epsilon, x in ((0.5, 0.25), (2, -1), (3, 0)):
        wide = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2
        told = MeanResponse(epsilon=epsilon, low=-1, high=1).variance(x, 10).sample
        assert told == pytest.approx((wide - x**2) / 10, rel=1e-9)


def test_piecewise_has_the_closed_form_up_to_its_grid():
    # Wang et al. (2019): x²/(s − 1) + (s + 3)/(3(s − 1)²) on [−1, 1], with s = e^(ε/2).
    for epsilon, x in ((0.5, 0.25), (2, -1), (4, 0)):
        s = math.exp(epsilon / 2)
        told = PiecewiseMean(epsilon=epsilon, low=-1, high=1).variance(x, 1).sample
        assert told == pytest.approx(x**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2), rel=1e-3)


def test_numbers_are_clipped_to_the_bounds_and_read_on_the_grid():
    public = MeanResponse(epsilon=1, low=0, high=10, steps=10).public
    found = [OwnNumber(value, public).input for value in (-5, 0, 4.4, "4.6", Fraction(19, 2), 99)]
    assert found == [0, 0, 4, 5, 10, 10]
    many = OwnNumber(np.array([-5, 0, 4.4, 4.6, 99]), public)
    assert many.input.tolist() == [0, 0, 4, 5, 10] and many.public.clients == 5
    for bad in ("secret", math.nan, None, True):
        with pytest.raises(ValueError, match="not shown because it is private") as caught:
            OwnNumber(bad, public)
        assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="array of finite numbers"):
        OwnNumber(np.array([1.0, math.nan]), public)


def test_bounds_are_checked():
    with pytest.raises(ValueError, match="low must be less than high; got 1 and 1"):
        MeanResponse(epsilon=1, low=1, high=1)
    with pytest.raises(ValueError, match="low must be a finite number"):
        MeanResponse(epsilon=1, low=math.inf, high=1)
    with pytest.raises(ValueError, match="would hold no information"):
        MeanResponse(epsilon="1e-15", low=0, high=1)


@EACH
def test_a_client_books_its_report(kind, tmp_path):
    design = kind(epsilon=1, low=0, high=1)
    ledger = Ledger.create(
        tmp_path / "me.ledger", allow=PureDP(1), unit="report", relation="replace_one"
    )
    assert 0 <= design.perturb(0.3, ledger) < design.primitive.reports
    assert ledger.spent == PureDP(1)
    reports = design.perturb_all([0.1, 0.9])
    assert len(reports) == 2
    assert design.estimate(reports.plain()).mean == design.estimate(reports).mean
    with pytest.raises(ValueError, match="report 0 must be a whole number"):
        design.estimate([-1])
    with pytest.raises(ValueError, match="at least one report"):
        design.estimate([])


def test_sums_of_many_reports_do_not_overflow():
    design = PiecewiseMean(epsilon="1/10", low=0, high=1, steps=1 << 20)
    last = design.primitive.reports - 1
    # As if every client of seven million had reported the last place: 2⁶³ is exceeded.
    rows = np.broadcast_to(np.uint32(last), 7_000_000)
    assert design.support(Reports(design, rows)).tolist() == [last * 7_000_000, last**2 * 7_000_000]


def test_the_better_of_the_two_is_chosen():
    assert isinstance(best_mean(0, 1, 1), MeanResponse)
    assert isinstance(best_mean(0, 1, 2), PiecewiseMean)


class AuditNumber(AuditSuite):
    """A survey of one number."""

    options = {"low": 0, "high": 1, "steps": 8}  # noqa: RUF012

    def audited_public(self):
        return self.method().public

    def halve_noise(self, monkeypatch):
        kind = type(self.method().primitive)
        law = kind.log_law
        monkeypatch.setattr(kind, "log_law", lambda p, x, y: 2 * law(p, x, y))

    def halve_sensitivity(self, monkeypatch):
        kind = type(self.method().primitive)
        monkeypatch.setattr(
            kind, "change", lambda p, x, y: Change(Fraction(2 * (x != y)), 1, "numbers")
        )

    def halve_drawn_noise(self, monkeypatch):
        # Half the noise is shown above, in the full laws; samples find a client that draws none.
        kind = type(self.method().primitive)
        monkeypatch.setattr(kind, "draw", lambda p, x, choices: p.telling(x, p.answers - x))


class TestMean(AuditNumber):
    name = "number.MeanResponse"


class TestPiecewise(AuditNumber):
    name = "number.PiecewiseMean"
