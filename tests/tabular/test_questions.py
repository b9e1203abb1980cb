import pytest

from sfumato.privacy.budget import SliceExceeded
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.saved import load, verify
from sfumato.tabular.questions import Questions
from tests.method_suite import AuditSuite
from tests.tabular import tables


class TestAudit(AuditSuite):
    name = "table.Questions"
    options = {"questions": 3}  # noqa: RUF012
    questions = [{}, {"colour": "blue"}, {"left": "true", "colour": ["red", "blue"]}]  # noqa: RUF012

    def audited_public(self):
        return tables.table([]).public


@pytest.fixture
def data():
    return tables.table(tables.made(200))


def test_answers_are_near_the_truth_with_a_large_budget(data):
    session = Questions(epsilon=1000, questions=5).open(data)
    assert session.ask({}).count == pytest.approx(200, abs=2)
    frame = tables.frame(tables.made(200))
    truth = ((frame["colour"] == "red") & frame["left"]).sum()
    answer = session.ask({"colour": "red", "left": ["true"]})
    assert answer.count == pytest.approx(truth, abs=answer.margin + 2)


def test_the_total_is_booked_at_once_and_bounds_the_questions(data, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    session = Questions(epsilon=1, questions=2).open(data, ledger=ledger)
    assert ledger.remaining == PureDP(0)
    session.ask({"colour": "red"})
    session.ask({"colour": "red"})
    with pytest.raises(SliceExceeded, match="asks for"):
        session.ask({"colour": "red"})


def test_a_session_is_saved_and_verified(data, tmp_path):
    with Questions(epsilon=1).open(data) as session:
        answer = session.ask({"colour": ["red", "green"]})
        release = session.close()
    folder = release.save(tmp_path / "out")
    assert verify(folder).passed
    assert load(folder).answers[0][1] == answer
    assert release.plot().axes


def test_columns_that_no_question_named_stay_home(data, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    session = Questions(epsilon=1).open(data, ledger=ledger)
    session.ask({"left": "true"})
    session.ask({})
    folder = session.close().save(tmp_path / "out")
    assert verify(folder, ledger=ledger).passed, str(verify(folder, ledger=ledger))
    published = b"".join(place.read_bytes() for place in folder.iterdir())
    assert b"left" in published and b"colour" not in published


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"colour": "pink"}, "column 'colour' has the values red, green, blue"),
        ({"weight": "1"}, "weight"),
        ({"colour": []}, "column 'colour' has the values"),
        ("colour", "a question must be a dictionary of columns"),
    ],
)
def test_a_bad_question_costs_nothing(data, question, message):
    session = Questions(epsilon=1).open(data)
    with pytest.raises(ValueError, match=message):
        session.ask(question)
    assert session.remaining == PureDP(1)


def test_a_one_shot_release_of_questions_is_refused_before_it_costs(data, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", allow=PureDP(1))
    with pytest.raises(TypeError, match="call open, then ask"):
        Questions(epsilon=1).release(data, ledger=ledger)
    assert ledger.history() == []


def test_the_plan_tells_the_margin_of_an_answer(data):
    plan = Questions(epsilon=1, questions=10).plan(data.public)
    assert "10 counting questions" in str(plan)
    assert plan.steps[0].figures["margin"] == 30.0
