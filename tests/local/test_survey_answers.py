"""One person's answers to several questions, through one door, and their audit."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.audit import canonical_pairs, random_pair
from sfumato.catalogue import METHODS, PUBLIC_PARTS
from sfumato.local.questionnaire import Questionnaire
from sfumato.local.survey_answers import RespondentPublic, SurveyAnswers
from sfumato.mechanisms.local_response import LocalResponse
from sfumato.mechanisms.randomized import Randomized
from sfumato.privacy.method import LocalMethod
from sfumato.privacy.primitive import Change
from sfumato.privacy.registry import resolve
from tests.method_suite import AuditSuite

SMOKING = {"name": "smoking", "answers": ["never", "sometimes", "daily"], "permanent": True}
STRESS = {"name": "stress", "answers": ["no", "yes"]}
AGE = {"name": "age", "low": 16, "high": 80, "mean": True}


def answers_to(*questions, epsilon=1):
    asked = [{"design": "RandomizedResponse"} | question for question in questions]
    survey = {"name": "test", "epsilon": str(epsilon)}
    return SurveyAnswers.to(Questionnaire.of({"survey": survey, "question": asked}).survey().items)


class TestSurveyAnswers(AuditSuite):
    name = "respondent.SurveyAnswers"

    def method(self, epsilon=1, **options):
        return answers_to(SMOKING, STRESS, epsilon=epsilon)

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
        # It has none to declare; the nearest mistake is an answer that counts as no change.
        monkeypatch.setattr(
            LocalResponse, "change", lambda p, x, y: Change(Fraction(2 * (x != y)), 1, "answers")
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


def test_pairs_are_answers_to_all_questions():
    public = answers_to(SMOKING, STRESS).public
    assert public == RespondentPublic(("smoking", "stress"), (3, 2))
    assert RespondentPublic.from_json(public.to_json()) == public
    first, turned = canonical_pairs(public)
    assert first.here.input == turned.there.input == (0, 0)
    assert first.there.input == turned.here.input == (2, 1)
    for seed in range(20):
        pair = random_pair(public, np.random.default_rng(seed))
        for smoking, stress in (pair.here.input, pair.there.input):
            assert smoking in range(3) and stress in range(2)


def test_answers_to_other_questions_are_refused():
    method, other = answers_to(SMOKING, STRESS), answers_to(STRESS)
    with pytest.raises(ValueError, match="other questions"):
        method.plan(other.public)
    assert answers_to(AGE | {"design": "auto"}).public.sizes[0] > 2


def test_every_method_that_runs_on_a_client_is_in_the_catalogue():
    """`collect perturb` and `Respondent` use these; the guards go by the catalogue."""

    def below(kind):
        return {kind, *(found for child in kind.__subclasses__() for found in below(child))}

    places = {name: resolve(name) for name in METHODS}
    for kind in below(LocalMethod):
        if kind.__module__.startswith("sfumato.") and not kind.__abstractmethods__:
            assert kind in places.values(), kind
    for name in ("neighbours.EdgeResponse", "respondent.SurveyAnswers"):
        assert f"{places[name].kind}.{places[name].__name__}" == name
        assert places[name].kind in PUBLIC_PARTS
