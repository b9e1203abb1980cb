"""Both sides of a survey: questionnaires, clients in two languages, permanent answers, tallies."""

import importlib.util
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from sfumato.local.questionnaire import Questionnaire
from sfumato.local.respondent import Respondent, lines_of
from sfumato.local.survey import Survey
from sfumato.local.survey_answers import SurveyAnswers
from sfumato.local.survey_plan import plan_survey
from sfumato.local.survey_tally import SurveyTally
from sfumato.local.wire import WrongLine
from sfumato.privacy.guarantee import Relation, Unit
from sfumato.privacy.ledger import BudgetExceeded, Ledger
from sfumato.privacy.loss import PureDP

ROOT = Path(__file__).parent.parent.parent
SMOKING = {"name": "smoking", "answers": ["never", "sometimes", "daily"], "permanent": True}
STRESS = {"name": "stress", "answers": ["no", "yes"]}
SLEEP = {"name": "sleep", "low": 0, "high": 12, "bins": 6, "design": "RandomizedResponse"}
AGE = {"name": "age", "low": 16, "high": 80, "mean": True}
ANSWERS = {"smoking": "never", "stress": "yes", "sleep": 7.5, "age": 41}


def questionnaire(*questions, **survey):
    """Return a questionnaire with ε = 2."""
    return Questionnaire.of(
        {"survey": {"name": "test", "epsilon": 2, **survey}, "question": list(questions)}
    )


def loaded(path, name):
    """Return a module that is no part of the package."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def client():
    return loaded(ROOT / "client" / "sfumato_local.py", "sfumato_local")


@pytest.fixture(scope="module")
def vectors():
    return json.loads((ROOT / "js" / "vectors.json").read_text(encoding="utf-8"))


# Clients in two languages


def test_the_vectors_are_what_the_library_draws(vectors):
    made = loaded(ROOT / "js" / "make_vectors.py", "make_vectors").vectors()
    assert json.loads(json.dumps(made)) == vectors


def test_the_vectors_hold_every_law(vectors):
    laws = {example["question"]["law"]["kind"] for example in vectors["questions"]}
    assert len(laws) == 8
    assert {example["survey"]["share"] for example in vectors["surveys"]} == {
        "split", "sample", "joint",
    }  # fmt: skip


def test_the_python_client_draws_the_same_reports_from_the_same_words(client, vectors):
    for example in vectors["questions"]:
        for draw in example["draws"]:
            words = [int(word, 16) for word in reversed(draw["words"])]
            report = client.perturb(example["question"], draw["answer"], words.pop)
            assert report == draw["report"] and not words


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is needed for the JavaScript client")
def test_the_javascript_client_draws_the_same_reports_from_the_same_words(tmp_path, vectors):
    check = ROOT / "js" / "check-vectors.mjs"
    done = subprocess.run(["node", check], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    many = sum(len(example["draws"]) for example in vectors["questions"]) + 6
    assert done.stdout.strip() == f"{many} examples, 0 wrong"
    # The check finds a report that is wrong.
    vectors["questions"][0]["draws"][0]["report"] = "nonsense"
    (tmp_path / "wrong.json").write_text(json.dumps(vectors), encoding="utf-8")
    done = subprocess.run(
        ["node", check, tmp_path / "wrong.json"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "1 wrong" in done.stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is needed for the JavaScript client")
def test_the_collector_reads_what_the_javascript_client_sends(tmp_path):
    survey = questionnaire(SMOKING, STRESS, SLEEP, AGE).survey()
    survey.save(tmp_path / "survey.json")
    script = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ Respondent, forgetful }} from "{(ROOT / "js" / "sfumato-local.mjs").as_uri()}";
        const survey = JSON.parse(readFileSync("survey.json", "utf8"));
        for (let number = 0; number < 300; number++) {{
          const someone = new Respondent({{ storage: forgetful(), allow: "5/2" }});
          const answers = {json.dumps(ANSWERS)};
          console.log(someone.answer(survey, answers));
          try {{
            someone.answer(survey, {{ ...answers, stress: "maybe" }});
          }} catch (error) {{
            if (!/not one of the answers/.test(error.message)) throw error;
          }}
          if (number) continue;
          try {{
            someone.answer(survey, answers);
            console.log("the second time must be refused");
          }} catch (error) {{
            if (!/would cost 7.2 in all/.test(error.message)) throw error;
          }}
        }}
    """
    (tmp_path / "respond.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["node", "respond.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    tally = SurveyTally.empty(survey).add(done.stdout.splitlines())
    assert tally.lines == 300 and tally.wrong == 0
    # e^(1/2)/(1 + e^(1/2)) = 0.62 of the reports; 6 standard errors, false alarms below 1e-8.
    assert abs(tally.counts["stress"][1] / 300 - 0.6225) < 6 * (0.6225 * 0.3775 / 300) ** 0.5


def test_a_client_refuses_a_survey_that_costs_more_than_it_says(client, tmp_path, vectors):
    for example in vectors["questions"]:
        asked, draw = example["question"], example["draws"][0]
        assert client.cost(asked) == pytest.approx(example["cost"], abs=1e-9)
        with pytest.raises(ValueError, match="costs more than the survey says"):
            client.perturb({**asked, "epsilon": "1"}, draw["answer"])
    survey = questionnaire(STRESS).survey().to_json()
    survey["questions"][0]["law"]["threshold"] = str(2**64 - 1)
    with pytest.raises(ValueError, match="do not answer"):
        client.Respondent(tmp_path / "m.json", 5).answer(survey, {"stress": "yes"})
    assert not (tmp_path / "m.json").exists()


def test_the_python_client_keeps_books_and_permanent_answers(client, tmp_path):
    survey = questionnaire(SMOKING, STRESS).survey().to_json()
    someone = client.Respondent(tmp_path / "memory.json", "5/2")
    answers = {"smoking": "never", "stress": "yes"}
    first = json.loads(someone.answer(survey, answers))
    assert someone.memory["spent"] == "2"
    with pytest.raises(ValueError, match="would cost 3 in all, and 5/2 is allowed"):
        someone.answer(survey, answers)
    richer = client.Respondent(tmp_path / "memory.json", 3)
    again = json.loads(richer.answer(survey, {**answers, "smoking": "daily"}))
    assert again["r"]["smoking"] == first["r"]["smoking"]
    assert richer.memory["spent"] == "3"
    assert (tmp_path / "memory.json").stat().st_mode & 0o077 == 0


def test_the_python_client_runs_alone(tmp_path):
    questionnaire(SMOKING, SLEEP).survey().save(tmp_path / "survey.json")
    words = [
        sys.executable, "-I", "-S", ROOT / "client" / "sfumato_local.py", "survey.json",
        "--answer", "smoking=never", "--answer", "sleep=7.5", "--allow", "2",
    ]  # fmt: skip
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["r"]) == {"smoking", "sleep"}


# Questionnaires


def test_a_questionnaire_becomes_a_survey_whose_file_says_the_same(tmp_path):
    found = questionnaire(SMOKING, STRESS, SLEEP, AGE, tables=[["smoking", "stress"]])
    survey = found.survey()
    assert survey.epsilon == 2 and [item.epsilon for item in survey.items] == [Fraction(1, 2)] * 4
    again = Survey.read(survey.save(tmp_path / "survey.json"))
    assert again == survey and again.identity == survey.identity
    assert survey.items[2].answers[0] == "0 to 2"
    assert survey.item("sleep").number({"sleep": 2}) == 1
    assert survey.item("sleep").number({"sleep": 99}) == 5
    assert found.with_epsilon(1).survey().identity != survey.identity


@pytest.mark.parametrize("share", ["split", "sample", "joint"])
def test_epsilon_is_for_all_answers_of_one_respondent(share):
    survey = questionnaire({**SMOKING, "permanent": False}, SLEEP, share=share).survey()
    assert survey.epsilon == 2
    assert len(survey.items) == (1 if share == "joint" else 2)
    if share == "joint":
        item = survey.items[0]
        assert len(item.answers) == 18 and item.answers[7] == "sometimes | 2 to 4"
        assert item.number({"smoking": "sometimes", "sleep": 3}) == 7


def test_weights_share_epsilon():
    survey = questionnaire({**SMOKING, "weight": 3}, STRESS).survey()
    assert [item.epsilon for item in survey.items] == [Fraction(3, 2), Fraction(1, 2)]


@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        ({}, "needs a section"),
        ({"survey": {}, "question": [STRESS]}, "needs epsilon"),
        ({"survey": {"epsilon": -1}, "question": [STRESS]}, "must be positive"),
        ({"survey": {"epsilon": 1, "shares": "x"}, "question": [STRESS]}, "has no 'shares'"),
        ({"survey": {"epsilon": 1, "share": "x"}, "question": [STRESS]}, "share must be one of"),
        ({"survey": {"epsilon": 1}, "question": [STRESS, STRESS]}, "a name of its own"),
        ({"survey": {"epsilon": 1}, "question": [{"name": "a"}]}, "say its answers"),
        ({"survey": {"epsilon": 1}, "question": [{"name": "a", "answers": ["x"]}]}, "two or more"),
        ({"survey": {"epsilon": 1}, "question": [{"name": "a", "low": 1, "high": 0}]}, "less than"),
        ({"survey": {"epsilon": 1}, "question": [{"name": "a", "low": 0, "high": 1}]}, "bins"),
        ({"survey": {"epsilon": 1}, "question": [{**STRESS, "weight": 0}]}, "weight must be"),
        ({"survey": {"epsilon": 1, "tables": [["a", "b"]]}, "question": [STRESS]}, "tables is"),
        (
            {
                "survey": {"epsilon": 1, "share": "sample", "tables": [["stress", "smoking"]]},
                "question": [STRESS, SMOKING],
            },
            "nobody answers two",
        ),
    ],
)
def test_a_wrong_questionnaire_is_refused(document, wrong):
    with pytest.raises(ValueError, match=wrong):
        Questionnaire.of(document)


def test_a_wrong_design_is_refused():
    with pytest.raises(ValueError, match="design must be one of auto"):
        questionnaire({**STRESS, "design": "Nonsense"}).survey()
    with pytest.raises(ValueError, match="has no means"):
        questionnaire(STRESS, AGE, share="joint").survey()


def test_a_survey_file_that_was_changed_is_refused():
    document = questionnaire(SMOKING, STRESS).survey().to_json()
    law = {**document["questions"][1]["law"], "threshold": "18446744073709551615"}
    for changed in (
        {
            **document,
            "questions": [document["questions"][0], {**document["questions"][1], "law": law}],
        },
        {**document, "id": "0" * 16},
        {**document, "format": "x"},
        {key: value for key, value in document.items() if key != "share"},
    ):
        with pytest.raises(ValueError, match="survey file"):
            Survey.from_json(changed)


# Respondents


@pytest.fixture
def own(tmp_path):
    return Ledger.create(
        tmp_path / "own.ledger", allow=PureDP(4), unit="person", relation="replace_one"
    )


def test_a_permanent_report_stays_whatever_the_answer_is_and_costs_once(tmp_path, own):
    survey = questionnaire(SMOKING, STRESS).survey()
    someone = Respondent(tmp_path / "memory.json", own)
    assert someone.cost(survey) == 2
    first = json.loads(someone.answer(survey, {"smoking": "never", "stress": "yes"}))
    assert own.spent == PureDP(2) and someone.cost(survey) == 1
    for turn, smoking in enumerate(["daily", "never"], start=1):
        again = json.loads(someone.answer(survey, {"smoking": smoking, "stress": "no"}))
        assert again["r"]["smoking"] == first["r"]["smoking"]
        assert own.spent == PureDP(2 + turn)
    with pytest.raises(BudgetExceeded):
        someone.answer(survey, {"smoking": "never", "stress": "no"})
    assert [entry.method for entry in own.history()] == ["respondent.SurveyAnswers"] * 3
    assert (tmp_path / "memory.json").stat().st_mode & 0o077 == 0


def test_a_permanent_report_is_taken_over_by_the_next_survey_with_the_same_question(tmp_path):
    someone = Respondent(tmp_path / "memory.json")
    spring = questionnaire(SMOKING, STRESS, name="spring").survey()
    autumn = questionnaire(STRESS, SMOKING, name="autumn").survey()
    assert spring.identity != autumn.identity
    first = json.loads(someone.answer(spring, {"smoking": "never", "stress": "yes"}))
    assert someone.cost(autumn) == 1
    second = json.loads(someone.answer(autumn, {"smoking": "daily", "stress": "yes"}))
    assert second["r"]["smoking"] == first["r"]["smoking"]
    # With another ε it is another question.
    assert someone.cost(questionnaire(SMOKING, epsilon=3).survey()) == 3


def test_what_all_is_permanent_costs_nothing_the_second_time(tmp_path, own):
    survey = questionnaire(SMOKING).survey()
    someone = Respondent(tmp_path / "memory.json", own)
    lines = {someone.answer(survey, {"smoking": "never"}) for _ in range(3)}
    assert len(lines) == 1 and own.spent == PureDP(2) and len(own.history()) == 1


def test_the_question_that_is_drawn_stays(tmp_path):
    survey = questionnaire(SMOKING, STRESS, AGE, share="sample").survey()
    someone = Respondent(tmp_path / "memory.json")
    asked = {tuple(json.loads(someone.answer(survey, ANSWERS))["r"]) for _ in range(5)}
    assert len(asked) == 1
    others = {
        tuple(json.loads(Respondent(tmp_path / f"{n}.json").answer(survey, ANSWERS))["r"])
        for n in range(60)
    }
    # Each of three is missed with a probability of (2/3)^60 < 1e-10.
    assert others == {("smoking",), ("stress",), ("age",)}


def test_a_wrong_answer_is_refused_before_it_costs_and_never_shown(tmp_path, own):
    survey = questionnaire(SMOKING, SLEEP).survey()
    someone = Respondent(tmp_path / "memory.json", own)
    for wrong in ({"smoking": "secret", "sleep": 1}, {"smoking": "never", "sleep": "secret"}):
        with pytest.raises(ValueError, match="not shown") as refused:
            someone.answer(survey, wrong)
        assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match="'sleep' is not answered"):
        someone.answer(survey, {"smoking": "never"})
    assert own.spent == PureDP(0)
    (tmp_path / "memory.json").write_text("nonsense")
    with pytest.raises(ValueError, match="does not hold what a respondent remembers"):
        someone.answer(survey, {"smoking": "never", "sleep": 1})


def test_the_guarantee_is_for_a_person_and_the_sum(tmp_path):
    survey = questionnaire(SMOKING, STRESS).survey()
    method = SurveyAnswers.to(survey.items)
    data = method.own({"smoking": "never", "stress": "yes"})
    guarantee = method.guarantee(data.public)
    assert guarantee.loss == PureDP(2)
    assert (guarantee.unit, guarantee.relation) == (Unit.PERSON, Relation.REPLACE_ONE)
    assert [step.loss for step in method.plan(data.public).steps] == [PureDP(1), PureDP(1)]
    with pytest.raises(ValueError, match="cost 2 together"):
        SurveyAnswers(epsilon=1, items=survey.items)


# The collector


def frame(rows=400):
    return pl.DataFrame(
        {
            "smoking": ["never", "sometimes", "daily", "never"] * (rows // 4),
            "stress": ["no", "yes"] * (rows // 2),
            "sleep": [6.0, 7.0, 8.0, 5.5] * (rows // 4),
            "age": [30.0, 50.0] * (rows // 2),
        }
    )


@pytest.mark.parametrize("share", ["split", "sample", "joint"])
def test_tallies_are_incremental_and_add_up(share, tmp_path):
    questions = [{**SMOKING, "permanent": False}, STRESS, SLEEP]
    tables = [["smoking", "stress"]] if share == "split" else []
    if share != "joint":
        questions.append(AGE)
    survey = questionnaire(*questions, share=share, tables=tables).survey()
    lines = list(lines_of(survey, frame()))
    whole = SurveyTally.empty(survey).add(lines)
    assert whole.lines == 400
    assert sum(whole.reports.values()) == 400 * (4 if share == "split" else 1)
    parts = SurveyTally.empty(survey).add(lines[:100]) + SurveyTally.empty(survey).add(lines[100:])
    kept = SurveyTally.read(survey, parts.save(tmp_path / "tally.json")).add([])
    assert kept.to_json() == whole.to_json()


def test_a_huge_epsilon_tells_the_truth():
    survey = questionnaire(
        {**SMOKING, "permanent": False}, STRESS, SLEEP, AGE,
        epsilon=1000, tables=[["smoking", "stress"]],
    ).survey()  # fmt: skip
    tally = SurveyTally.empty(survey).add(lines_of(survey, frame()))
    assert tally.shares("smoking").estimates.tolist() == pytest.approx([0.5, 0.25, 0.25])
    assert tally.mean("age").mean == pytest.approx(40, abs=0.01)
    table = tally.table("smoking", "stress")
    assert table.estimates[0].tolist() == pytest.approx([0.25, 0.25])
    joint = questionnaire(STRESS, SLEEP, share="joint", epsilon=1000).survey()
    found = SurveyTally.empty(joint).add(lines_of(joint, frame())).joint()
    assert found.margin(["stress"]).tolist() == pytest.approx([0.5, 0.5])


def test_wrong_lines_are_refused_with_their_number_or_left_out():
    survey = questionnaire(SMOKING, STRESS).survey()
    good = list(lines_of(survey, frame(8)))
    named = good[0].replace('"smoking":"', '"smoking":"?')
    for wrong, why in (
        ("nonsense", "line 9: it is not JSON"),
        ("[1]", "line 9: it must be"),
        (good[0].replace(survey.identity, "f" * 16), "another survey"),
        (json.dumps({"q": survey.identity, "r": [1]}), "named by their questions"),
        (json.dumps({"q": survey.identity, "r": {"stress": "no"}}), "one report of each"),
        (named, r"line 9: smoking: .* is not one of the answers"),
        ("[" * 100_000, "not JSON"),
    ):
        with pytest.raises(WrongLine, match=why):
            SurveyTally.empty(survey).add([*good, wrong])
        tally = SurveyTally.empty(survey).add([*good, wrong, "", *good], skip=True)
        assert (tally.lines, tally.wrong) == (16, 1)
    other = questionnaire(STRESS).survey()
    with pytest.raises(ValueError, match="different ones"):
        SurveyTally.empty(survey) + SurveyTally.empty(other)
    with pytest.raises(ValueError, match="another survey"):
        SurveyTally.from_json(other, SurveyTally.empty(survey).to_json())


def test_what_was_not_asked_is_not_told():
    survey = questionnaire(STRESS, AGE).survey()
    tally = SurveyTally.empty(survey)
    with pytest.raises(ValueError, match="the mean is asked"):
        tally.shares("age")
    with pytest.raises(ValueError, match="the shares of answers are asked"):
        tally.mean("stress")
    with pytest.raises(ValueError, match="not made to tell a table"):
        tally.table("stress", "age")
    with pytest.raises(ValueError, match="is not a question"):
        tally.shares("nonsense")


# Plans


def test_so_many_respondents_as_are_planned_give_the_margin():
    plan = plan_survey(questionnaire(SMOKING, STRESS, AGE).survey(), 10_000)
    for item in plan.items:
        needed = item.respondents(0.05)
        assert item.margin(needed) <= 0.05 < item.margin(needed - 1)
    # One answer of two at ε = 2/3: λ(1 − λ)/(2p − 1)² is at most 1/(4(2p − 1)²).
    stress = plan.items[1]
    p = 1 / (1 + 2.718281828459045 ** (-2 / 3))
    assert stress.spread == pytest.approx(1 / (4 * (2 * p - 1) ** 2))
    with pytest.raises(ValueError, match="between 0 and 1"):
        stress.respondents(0)


def test_with_one_question_each_more_must_answer():
    split = plan_survey(questionnaire(STRESS, SLEEP, share="sample").survey(), 1000)
    assert all(item.told_by == 0.5 for item in split.items)
    assert split.repeated(10) == 20
    assert plan_survey(questionnaire(SMOKING, STRESS).survey(), 10).repeated(10) == 11
