import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato import noise
from sfumato.local import (
    HadamardResponse,
    LaplaceResponse,
    LocalHash,
    MatrixResponse,
    MeanResponse,
    PiecewiseMean,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from sfumato.local.client_data import OwnAnswers
from sfumato.mechanisms.local_hash import HashResponse, hash_width
from sfumato.mechanisms.local_matrix import within
from sfumato.mechanisms.local_response import NumberedResponse
from sfumato.mechanisms.local_subset import SubsetResponse
from sfumato.mechanisms.local_unary import UnaryResponse
from sfumato.mechanisms.one_question import OneQuestion
from sfumato.noise.choices import WordChoices
from sfumato.noise.expansions import WORD, lies
from sfumato.privacy.record import record, replay
from tests.local.enumerating import exact_law
from tests.method_suite import AuditSuite

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

EVEN = [["4/6", "1/6", "1/6"], ["1/6", "4/6", "1/6"], ["1/6", "1/6", "4/6"]]
#: A matrix that is nothing special, of ratios 4, 3 and 2.
ODD = [["0.4", "0.1", "0.2"], ["0.3", "0.6", "0.2"], ["0.3", "0.3", "0.6"]]
DESIGNS = {
    "randomized": lambda e, k: RandomizedResponse(epsilon=e, answers=k),
    "unary": lambda e, k: UnaryEncoding(epsilon=e, answers=k),
    "symmetric": lambda e, k: UnaryEncoding(epsilon=e, answers=k, symmetric=True),
    "hash": lambda e, k: LocalHash(epsilon=e, answers=k),
    "subset": lambda e, k: SubsetSelection(epsilon=e, answers=k),
    "hadamard": lambda e, k: HadamardResponse(epsilon=e, answers=k),
    "laplace": lambda e, k: LaplaceResponse(epsilon=e, answers=k),
    "matrix": lambda e, k: MatrixResponse(epsilon="3/2", answers=3, matrix_rows=ODD),
}
LISTED = [name for name in DESIGNS if name != "hash"]
CONSTANT = ["randomized", "unary", "symmetric", "subset", "hadamard"]
EVERY = pytest.mark.parametrize("name", list(DESIGNS))


RESPONSES = {
    **{name: made(1, 70).primitive for name, made in DESIGNS.items()},
    "bit": MeanResponse(epsilon=1, low=0, high=1, steps=8).primitive,
    "place": PiecewiseMean(epsilon=1, low=0, high=1, steps=8).primitive,
}


def beyond(primitive):
    """Return plain reports and rows that are none, though of the right type."""
    if isinstance(primitive, NumberedResponse):
        last = primitive.reports
        return [-1, last, np.array([0, last], dtype=np.min_scalar_type(last - 1))]
    if isinstance(primitive, SubsetResponse):
        falling = tuple(range(primitive.size))[::-1]
        high = tuple(range(71 - primitive.size, 71))
        return [falling, high, np.array([falling], np.uint8), np.array([high], np.uint8)]
    if isinstance(primitive, UnaryResponse):
        return ["0" * 71, "2" * 70, np.array([[0, 1 << 6]], np.uint64)]
    return ["0" * 31, "g" * 32, np.zeros((2, 3), np.uint64)]


@pytest.mark.parametrize("name", list(RESPONSES))
def test_a_response_says_reports_and_nothing_else(name):
    primitive = RESPONSES[name]
    held = np.arange(200, dtype=np.int64) % primitive.inputs
    with noise.seeded(1):
        one, many = primitive.sample(1), primitive.sample(held)
    for said in (one, many, many[:0], *primitive.extremes(0, 1)):
        primitive.check_output(said)
    strange = [None, True, 1.0, [one], many.astype(np.float64), many[:, None], many[0, ...]]
    for said in (*strange, *beyond(primitive)):
        with pytest.raises((ValueError, TypeError)):
            primitive.check_output(said)


def test_one_question_says_a_question_and_its_report_and_nothing_else():
    kinds = tuple(RESPONSES[name].kind for name in ("randomized", "subset"))
    law = OneQuestion(answers=(3, 5), responses=kinds, set_sizes=(0, 2), epsilon=Fraction(1))
    records = np.column_stack([np.arange(90) % 3, np.arange(90) % 5])
    with noise.seeded(1):
        one, many = law.sample((2, 4)), law.sample(records)
    chosen, first, second = many
    for said in (one, many, (0, 2), (1, (0, 4))):
        law.check_output(said)
    for said in (
        (2, 0),
        (0, 3),
        (1, 0),
        (0, 1, 2),
        (chosen, first),
        (chosen, first, second[1:]),
        (chosen, second, first),
        (chosen - 1, first, second),
        (np.where(chosen, 2**62, 0), first, second),
        (chosen.astype(np.float64), first, second),
    ):
        with pytest.raises((ValueError, TypeError)):
            law.check_output(said)


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize(("epsilon", "k"), [("1/10", 5), (1, 4), (3, 3), (60, 3), (2, 1), (2, 2)])
def test_the_full_law_of_the_client_is_the_declared_one_and_costs_no_more_than_epsilon(
    name, epsilon, k
):
    # The client's own code, with every choice tried: no probability here is a float.
    design = DESIGNS[name](epsilon, k)
    primitive = design.primitive
    laws = [exact_law(primitive, value) for value in range(design.k)]
    outputs = list(primitive.outputs())
    for value, law in enumerate(laws):
        assert sum(law.values()) == 1
        assert law == {report: primitive.probability(value, report) for report in outputs}
    ratios = [
        max(law[report] for law in laws) / min(law[report] for law in laws) for report in outputs
    ]
    if design.k > 1:
        assert within(max(ratios), primitive.epsilon)
        assert max(ratios) == design._ratio()
    if name in CONSTANT:
        told = [[_speaks(name, report, answer) for answer in range(k)] for report in outputs]
        for value, law in enumerate(laws):
            for answer in range(k):
                found = sum(law[r] for r, said in zip(outputs, told, strict=True) if said[answer])
                assert found == (design.p if answer == value else design.q)


def _speaks(name, report, answer):
    """Tell whether a report speaks for an answer, written once more and plainly."""
    match name:
        case "randomized":
            return report == answer
        case "unary" | "symmetric":
            return report[answer] == "1"
        case "subset":
            return answer in report
        case _:
            return bin((answer + 1) & report).count("1") % 2 == 0


@pytest.mark.parametrize(("epsilon", "k"), [("1/2", 5), (1, 8), (3, 3), (1, 1), (2, 2)])
def test_a_hash_holds_every_other_answer_with_exactly_the_same_probability(epsilon, k):
    # The proof of q is that of a circle of 2^b places; b = 8 can be tried as a whole.
    width = hash_width(k, Fraction(epsilon), bits=8)
    for truth, answer in itertools.product(range(k), repeat=2):
        held = np.zeros(256, dtype=np.int64)
        for step in range(256):
            held += (np.arange(256) + step * (answer - truth)) % 256 < width
        # Wherever the true answer is put on the circle, so many steps put the other into the set.
        if truth == answer:
            assert (held == 256 * (np.arange(256) < width)).all()
        else:
            assert (held == width).all()


@pytest.mark.parametrize("k", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 5])
def test_no_whole_number_of_buckets_would_hash_better(k, epsilon):
    e = math.exp(epsilon)

    def mean(p, q):
        return (p * (1 - p) + (k - 1) * q * (1 - q)) / (k * (p - q) ** 2)

    ours = LocalHash(epsilon=epsilon, answers=k).variance(Fraction(1, k), 1).sample
    whole = min(mean(e / (e + g - 1), 1 / g) for g in range(2, 1000))
    assert ours <= whole * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["1/1000", 1, 5, 100])
def test_a_hash_costs_no_more_than_epsilon(epsilon):
    primitive = HashResponse(answers=1000, epsilon=Fraction(epsilon))
    p, q = primitive.truth, primitive.other
    ratio = p * (1 - q) / (q * (1 - p))
    assert within(ratio, primitive.epsilon)
    for here, there in ((0, 999), (512, 0), (3, 7)):
        report = primitive.telling(here, there)
        assert primitive.holds(report, here) and not primitive.holds(report, there)
        assert primitive.probability(here, report) / primitive.probability(there, report) == ratio


def test_thresholds_are_rounded_up_by_less_than_one():
    for inside, outside, epsilon in ((1, 1, 1), (3, 40, Fraction(1, 3)), (1, 999, 7)):
        weight = lies(inside, outside, Fraction(epsilon))
        likely = math.exp(epsilon) * inside / outside
        assert weight / WORD == pytest.approx(1 / (likely + 1), rel=1e-12)
        # One less would make the likelier outcomes too likely.
        ratio = [Fraction((WORD - w) * outside, w * inside) for w in (weight, weight - 1)]
        assert within(ratio[0], Fraction(epsilon)) and not within(ratio[1], Fraction(epsilon))
    assert lies(1, 1, Fraction(10**6)) == 1
    assert lies(1, 0, Fraction(1)) == 0


def test_choices_take_one_word_each_and_uniform_ones_reject_what_is_left_over():
    words = iter([5, WORD - 1, 11, 2**63, 7])
    choices = WordChoices(lambda: next(words))
    assert choices.coin(6) and choices.uniform(10) == 1
    assert choices.piece([2**62, 2**63, WORD]) == 2
    assert choices.uniform(WORD) == 7


@EVERY
def test_many_clients_report_as_one_does(name):
    # The compiled loops and the plain client read the same words, except where words are shared.
    design = DESIGNS[name](1, 3 if name == "matrix" else 11)
    codes = np.arange(40) % design.k
    if name in ("unary", "symmetric", "subset"):
        return
    with noise.seeded(4):
        together = design.primitive.draw_all(codes)
    with noise.seeded(4) as source:
        choices = WordChoices(lambda: int(source.words(1)[0]))
        alone = [design.primitive.draw(code, choices) for code in codes.tolist()]
    assert design.primitive.plain(together) == alone


@EVERY
def test_estimates_of_many_reports_are_unbiased_with_the_stated_variance(name):
    design = DESIGNS[name](1, 3 if name == "matrix" else 70 if name != "laplace" else 4)
    n = 20_000
    codes = np.minimum(np.arange(n) % 90, design.k - 1)
    truth = np.bincount(codes, minlength=design.k)
    with noise.seeded(5):
        runs = [_counted(design, codes) for _ in range(20)]
    spread = np.sqrt(design.variances(truth / n, n)[0]) * n
    scores = (np.array(runs) - truth) / spread
    # Means of 20 and single deviations: below 1e-6 for all answers together.
    assert np.abs(scores.mean(axis=0)).max() < 6.2 / math.sqrt(20)
    assert np.abs(scores).max() < 6.5
    # The mean square has a relative deviation of about sqrt(2/(20k)), more for dependent answers.
    assert (scores**2).mean() == pytest.approx(1, abs=6 * math.sqrt(2 / (20 * design.k)) + 0.05)


def _counted(design, codes):
    from sfumato.local.reports import Reports

    reports = Reports(design, design.primitive.draw_all(codes))
    return design.counts(design.support(reports), len(reports))


@EVERY
def test_plain_reports_and_compact_ones_say_the_same(name):
    design = DESIGNS[name](2, 3 if name == "matrix" else 70)
    reports = design.perturb_all(np.arange(200) % design.k)
    assert len(reports) == 200
    plain = reports.plain()
    again = design.encode(plain)
    np.testing.assert_array_equal(again.rows, reports.rows)
    np.testing.assert_array_equal(design.support(plain), design.support(reports))
    halves = design.support(reports[:77]) + design.support(reports[77:])
    np.testing.assert_array_equal(halves, design.support(reports))
    assert type(design.perturb(design.answers[1])) is type(plain[0])
    assert [e.answer for e in design.estimate(reports)] == list(design.answers)


@pytest.mark.parametrize(
    ("name", "reports"),
    [
        ("randomized", ["4"]),
        ("randomized", [["0"]]),
        ("unary", ["0100"]),
        ("unary", ["01x"]),
        ("unary", [5]),
        ("hash", ["0" * 31]),
        ("hash", ["0" * 31 + "G"]),
        ("hash", [0]),
        ("subset", [[0, 1, 2]]),
        ("subset", [[3]]),
        ("subset", [[True]]),
        ("subset", [0]),
        ("hadamard", [4]),
        ("hadamard", [-1]),
        ("hadamard", [True]),
        ("hadamard", ["1"]),
        ("laplace", ["none"]),
    ],
)
def test_a_malformed_report_is_refused(name, reports):
    design = DESIGNS[name](1, 3)
    with pytest.raises(ValueError, match=r"report 0 must|is not one of the answers"):
        design.support(reports)


def test_reports_of_another_design_are_not_counted():
    reports = LocalHash(epsilon=1, answers=5).perturb_all([1, 2])
    with pytest.raises(ValueError, match="made by another design"):
        LocalHash(epsilon=2, answers=5).support(reports)


@EVERY
def test_one_client_of_many_changes_costs_no_more_than_epsilon(name):
    design = DESIGNS[name](1, 3)
    here, there = OwnAnswers([0, 1, 2], design.answers), OwnAnswers([0, 2, 2], design.answers)
    with noise.seeded(1):
        script = record(design, here)
    mirror = replay(design, there, script)
    assert all(change.holds for _, change in script.changes(mirror))
    assert abs(script.loss_against(mirror)) <= float(design.exact_epsilon()) * (1 + 1e-12)
    with pytest.raises(ValueError, match="from 0 to 2; what was given is not shown"):
        design.perturb_all([0, 3])


@EVERY
@pytest.mark.parametrize("epsilon", ["1e-6", 1000])
def test_tiny_and_huge_epsilons_and_no_clients(name, epsilon):
    design = DESIGNS[name](float(epsilon), 3)
    assert design.realised_epsilon <= float(epsilon) or name == "matrix"
    assert design.support(design.perturb_all(np.zeros(0, dtype=np.int64))).sum() == 0
    assert [e.count for e in design.estimate([])] == [0.0, 0.0, 0.0]
    assert len(design.perturb_all([0, 1, 2]).plain()) == 3


def test_an_epsilon_that_would_tell_nothing_is_refused():
    with pytest.raises(ValueError, match="would hold no information"):
        RandomizedResponse(epsilon="1e-15", answers=1 << 20)


def test_a_matrix_that_costs_more_than_epsilon_is_refused():
    with pytest.raises(ValueError, match=r"loss of the matrix is 1\.38629, which exceeds epsilon"):
        MatrixResponse(epsilon=1, answers=3, matrix_rows=EVEN)
    with pytest.raises(ValueError, match="matrix_rows must be a square list"):
        MatrixResponse(epsilon=1, answers=2, matrix_rows=[[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match="need a matrix of 2 rows"):
        MatrixResponse(epsilon=2, answers=2, matrix_rows=EVEN)


def test_a_matrix_at_the_very_edge_of_epsilon_gets_a_little_more_noise():
    share = repr(math.exp(1) / (math.exp(1) + 1))
    rows = [[share, str(1 - Fraction(share))], [str(1 - Fraction(share)), share]]
    design = MatrixResponse(epsilon=1, answers=2, matrix_rows=rows)
    assert 1 - 1e-9 < design.realised_epsilon <= 1
    np.testing.assert_allclose(design.matrix[0, 0], float(share), rtol=1e-9)


def test_rounded_laplace_has_the_closed_forms():
    three = LaplaceResponse(epsilon=1, answers=3)
    columns = [[0.61060, 0.15322, 0.23618], [0.38940, 0.22120, 0.38940]]
    np.testing.assert_allclose(three.matrix.T[:2], columns, atol=5e-6)
    for t, effective in ((3, 0.9498), (6, 0.9909)):
        design = LaplaceResponse(epsilon=1, answers=t)
        bound = math.log(2 - math.exp(-1 / (2 * (t - 1)))) + (t - 1.5) / (t - 1)
        assert design.realised_epsilon == pytest.approx(bound, rel=1e-12)
        assert design.realised_epsilon == pytest.approx(effective, abs=5e-5)
        assert np.trace(design.matrix) == pytest.approx(t - (t - 1) * math.exp(-1 / (2 * (t - 1))))
    for epsilon, expected in ((0.1, 104.855), (1, 1.36480), (10, 0.00340)):
        two = LaplaceResponse(epsilon=epsilon, answers=2)
        assert two.realised_epsilon == pytest.approx(math.log(2 * math.exp(epsilon / 2) - 1))
        assert two.variances([0.5, 0.5], 1)[0][0] == pytest.approx(expected, rel=2e-3)


def test_variances_have_the_closed_forms():
    for epsilon, t, share in ((0.5, 2, 0.3), (1, 6, 0.3), (2, 10, 0.1)):
        e = math.exp(epsilon)
        told = RandomizedResponse(epsilon=epsilon, answers=t).variance(share, 248)
        noise_part = ((e + t - 2) / (e - 1) ** 2 + share * (t - 2) / (e - 1)) / 248
        assert told.sample == pytest.approx(noise_part, rel=1e-12)
        assert told.population == pytest.approx(noise_part + share * (1 - share) / 248, rel=1e-12)
        told = UnaryEncoding(epsilon=epsilon, answers=t).variance(share, 1)
        assert told.sample == pytest.approx(4 * e / (e - 1) ** 2 + share, rel=1e-12)
        told = LocalHash(epsilon=epsilon, answers=1 << 20).variance(share, 1)
        assert told.sample == pytest.approx(4 * e / (e - 1) ** 2 + share, rel=1e-4)
    survey = RandomizedResponse(epsilon=math.log(4), answers=3)
    assert float(survey.p) == pytest.approx(2 / 3) and float(survey.q) == pytest.approx(1 / 6)
    counts = survey.counts(np.array([50, 30, 20]), 100)
    np.testing.assert_allclose(counts / 100, [0.66667, 0.26667, 0.06667], atol=1e-5)


@pytest.mark.parametrize(("k", "epsilon"), [(3, 1), (12, 1), (64, 2), (500, 1)])
def test_the_size_of_sets_is_the_best_of_all(k, epsilon):
    def mean(size):
        return SubsetSelection(epsilon=epsilon, answers=k, size=size).variance(Fraction(1, k), 1)

    chosen = SubsetSelection(epsilon=epsilon, answers=k).sets_of
    tried = range(1, k) if k < 100 else range(chosen - 3, chosen + 4)
    assert mean(chosen).sample == min(mean(size).sample for size in tried)


class AuditDesign(AuditSuite):
    """A survey of three answers."""

    options = {"answers": ["yes", "no", "unsure"]}  # noqa: RUF012

    def audited_public(self):
        return self.method().public

    def primitive(self):
        return type(self.method().primitive)

    def halve_noise(self, monkeypatch):
        kind = self.primitive()
        law = kind.log_law
        monkeypatch.setattr(kind, "log_law", lambda p, x, y: 2 * law(p, x, y))

    def halve_sensitivity(self, monkeypatch):
        # It has none to declare; the nearest mistake is an answer that counts as no change.
        from sfumato.privacy.primitive import Change

        monkeypatch.setattr(
            self.primitive(), "change", lambda p, x, y: Change(Fraction(2 * (x != y)), 1, "answers")
        )

    def halve_drawn_noise(self, monkeypatch):
        # Half the noise is shown above, in the full laws; samples find a client that draws none.
        monkeypatch.setattr(
            self.primitive(), "draw", lambda p, x, choices: p.telling(x, (x + 1) % p.answers)
        )


class TestUnary(AuditDesign):
    name = "report.UnaryEncoding"


class TestHash(AuditDesign):
    name = "report.LocalHash"


class TestSubset(AuditDesign):
    name = "report.SubsetSelection"


class TestHadamard(AuditDesign):
    name = "report.HadamardResponse"


class TestLaplace(AuditDesign):
    name = "report.LaplaceResponse"

    def halve_drawn_noise(self, monkeypatch):
        monkeypatch.setattr(self.primitive(), "draw", lambda p, x, choices: x)


class TestMatrix(AuditDesign):
    name = "report.MatrixResponse"
    options = {"answers": ["yes", "no", "unsure"], "matrix_rows": ODD}  # noqa: RUF012

    def method(self, epsilon=Fraction(3, 2), **options):
        return super().method(epsilon, **options)
