"""What survey files and tallies of surveys must satisfy before they are believed."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from sfumato.local.respondent import lines_of
from sfumato.local.survey import Survey
from sfumato.local.survey_answers import SurveyAnswers
from sfumato.local.survey_tally import SurveyTally
from sfumato.local.wire import line_of
from tests.local.test_survey import AGE, SLEEP, SMOKING, STRESS, frame, questionnaire


def forged(survey, change):
    """Return a survey file that was changed by somebody who made its ids fit again."""
    document = json.loads(json.dumps(survey.to_json()))
    change(document)
    return document


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ((0.0, 10.0, 50.0, 100.0), "2 ranges and needs 3 edges; got 4"),
        ((0.0, 60.0, 50.0), "must be finite and increasing"),
        ((0.0, 50.0, float("inf")), "must be finite and increasing"),
    ],
)
def test_edges_fit_their_answers(edges, why):
    survey = questionnaire({"name": "income", "low": 0, "high": 100, "bins": 2}).survey()

    def change(document):
        document["questions"][0]["edges"] = list(edges)

    with pytest.raises(ValueError, match=why):
        Survey.from_json(forged(survey, change))


@pytest.mark.parametrize(
    ("bounds", "why"),
    [((50, 50), "low must be less than high"), ((0, 90), "other bounds than the question")],
)
def test_bounds_are_those_of_the_design(bounds, why):
    def change(document):
        document["questions"][0]["low"], document["questions"][0]["high"] = bounds

    with pytest.raises(ValueError, match=why):
        Survey.from_json(forged(questionnaire(AGE).survey(), change))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("share", "bogus", "share must be one of split, sample, joint"),
        ("questions", [], "at least one question"),
        ("epsilon", "1/100", "has epsilon = 1/100; its questions have a total of 2"),
        ("tables", [["smoking", "smoking"]], "two different questions"),
        ("tables", [["smoking", "age"]], "whose reports are answers"),
        ("more", 1, "entries that its questions do not have"),
        ("name", 7, "must be a text"),
    ],
)
def test_a_survey_file_that_is_not_sound_is_refused(key, value, why):
    survey = questionnaire(SMOKING, AGE).survey()
    with pytest.raises(ValueError, match=why):
        Survey.from_json(forged(survey, lambda document: document.update({key: value})))


def test_every_question_has_a_name_of_its_own():
    survey = questionnaire(SMOKING, STRESS).survey()

    def twice(document):
        document["questions"][1] = document["questions"][0]

    with pytest.raises(ValueError, match="must have different names"):
        Survey.from_json(forged(survey, twice))
    joint = questionnaire(STRESS, SLEEP, share="joint").survey()
    with pytest.raises(ValueError, match="one item, which holds all questions"):
        Survey("x", "joint", (joint.items[0], *questionnaire(AGE).survey().items))


def test_a_design_collects_what_is_asked():
    item, number = questionnaire(STRESS).survey().items[0], questionnaire(AGE).survey().items[0]
    with pytest.raises(ValueError, match="does not collect answers"):
        replace(item, design=number.design)
    with pytest.raises(ValueError, match="does not collect numbers"):
        replace(number, design=item.design)
    with pytest.raises(ValueError, match="true or false"):
        replace(item, permanent=1)


def test_a_huge_number_is_read_as_the_last_one():
    item = questionnaire(AGE).survey().items[0]
    for answer, step in ((10**400, item.steps), (-(10**400), 0)):
        assert SurveyAnswers.to((item,)).own({"age": answer}).input == (step,)


# Tables


def test_surveys_that_tell_other_tables_are_other_surveys():
    questions = [{**question, "permanent": False} for question in (SMOKING, STRESS, SLEEP)]
    surveys = [
        questionnaire(*questions, tables=tables).survey()
        for tables in ([], [["smoking", "stress"]], [["smoking", "sleep"]])
    ]
    assert len({survey.identity for survey in surveys}) == 3
    tallies = [SurveyTally.empty(survey).add(lines_of(survey, frame(8))) for survey in surveys]
    with pytest.raises(ValueError, match="different surveys"):
        tallies[1] + tallies[2]
    with pytest.raises(ValueError, match="another survey"):
        SurveyTally.from_json(surveys[2], tallies[1].to_json())
    # A file says its id; whoever takes the tables out must change it, too.
    document = surveys[1].to_json()
    with pytest.raises(ValueError, match="do not match its id"):
        Survey.from_json({**document, "tables": []})


# Tallies


@pytest.fixture(scope="module")
def counted():
    questions = [{**SMOKING, "permanent": False}, STRESS, AGE]
    survey = questionnaire(*questions, tables=[["smoking", "stress"]]).survey()
    return survey, SurveyTally.empty(survey).add(lines_of(survey, frame(40))).to_json()


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("lines",), -1, "of at least 0"),
        (("lines",), 40.0, "must be whole numbers"),
        (("lines",), 1, "the numbers of reports do not match"),
        (("wrong",), True, "must be whole numbers"),
        (("reports", "stress"), 10**6, "the numbers of reports do not match"),
        (("reports",), {}, "do not match those of its survey"),
        (("counts", "stress"), [41, -1], "of at least 0"),
        (("counts", "stress"), [20.5, 19.5], "whole numbers"),
        (("counts", "stress"), [41, 40], "exceeds the number of reports"),
        (("counts", "stress"), [40, 40], "support 40 answers in all"),
        (("counts", "stress"), [40], "must have 2 counts"),
        (("counts", "age"), [10**9, 10**9], "cannot have these sums"),
        (("counts", "age"), [30, 20], "cannot have these sums"),
        (("counts", "age"), [1], "two sums"),
        (("tables",), [], "must have the 1 tables"),
        (("tables",), [[[40, 0], [0, 0], [0, 0]]], "does not add up"),
        (("tables",), [[[40, 0]]], "3 × 2 counts"),
    ],
)
def test_a_tally_that_does_not_fit_together_is_refused(counted, path, value, why):
    survey, document = counted
    assert SurveyTally.from_json(survey, document).lines == 40
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=why):
        SurveyTally.from_json(survey, changed)


def test_a_tally_that_lacks_something_is_refused(counted):
    survey, document = counted
    for key in document.keys() - {"format"}:
        with pytest.raises(ValueError, match="is incomplete"):
            SurveyTally.from_json(
                survey, {name: said for name, said in document.items() if name != key}
            )


def test_sums_of_squares_do_not_overflow():
    survey = questionnaire({**AGE, "design": "PiecewiseMean"}, epsilon="1/10").survey()
    most = survey.items[0].design.primitive.reports - 1
    lines = [line_of(survey.identity, {"age": most})] * 64
    tally = SurveyTally.empty(survey).add(lines)
    for _ in range(40):
        tally = tally + tally
    assert tally.counts["age"].tolist() == [most * tally.lines, most**2 * tally.lines]
    again = SurveyTally.from_json(survey, json.loads(json.dumps(tally.to_json())))
    assert again.mean("age") == tally.mean("age")
    assert np.isfinite(again.mean("age").margin)
