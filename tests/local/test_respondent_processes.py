"""One memory among several programs: racing for it, and killed with it in their hands."""

from __future__ import annotations

import json
import os
import random
import signal
import time

import pytest

from sfumato.local import respondent
from sfumato.local.questionnaire import Questionnaire
from sfumato.local.respondent import Respondent
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP

# Forked children of these tests draw, write files and use SQLite, nothing that other threads hold.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

#: A report of it is one of 2**128, so that two draws are never the same by chance.
PLACES = {
    "name": "place",
    "ask": "Where?",
    "answers": [str(number) for number in range(1000)],
    "permanent": True,
    "design": "LocalHash",
}
ANSWERS = {"place": "7"}


@pytest.fixture(scope="module")
def survey():
    written = {"survey": {"name": "where", "epsilon": "1/2"}, "question": [PLACES]}
    return Questionnaire.of(written).survey()


def spawn(work):
    """Start a forked child that runs `work`; return it, and where it writes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(60)  # A child that hangs is a failure too.
        try:
            os.close(reader)
            work(writer)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    return child, reader


def outcome(child, reader):
    """Return how a child ended, and what it had sent by then."""
    with os.fdopen(reader) as file:
        sent = file.read().splitlines()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sent


def answer_and_send(path, survey, ledger=None):
    def work(writer):
        line = Respondent(path, ledger).answer(survey, ANSWERS)
        os.write(writer, line.encode() + b"\n")

    return work


def test_programs_that_race_for_one_memory_send_one_permanent_report(tmp_path, survey):
    own = Ledger.create(
        tmp_path / "own.ledger", allow=PureDP(4), unit="person", relation="replace_one"
    )
    for turn in range(1, 6):
        path = tmp_path / f"{turn}.json"
        children = [spawn(answer_and_send(path, survey, own)) for _ in range(6)]
        ended = [outcome(*child) for child in children]
        assert [code for code, _ in ended] == [0] * 6
        assert len({line for _, sent in ended for line in sent}) == 1
        assert len(own.history()) == turn
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".json"] * 5 + [".ledger"]


@pytest.mark.slow
def test_a_program_killed_at_any_instant_never_leads_to_a_second_report(tmp_path, survey):
    start = time.perf_counter()
    Respondent(tmp_path / "first.json").answer(survey, ANSWERS)
    pace = time.perf_counter() - start
    moments, sent_before = random.Random(2026), 0
    for turn in range(40):
        path = tmp_path / f"{turn}.json"
        child, reader = spawn(answer_and_send(path, survey))
        time.sleep(moments.uniform(0, 2 * pace))
        os.kill(child, signal.SIGKILL)
        _, sent = outcome(child, reader)
        lock = path.with_name(f"{path.name}.lock")
        lock.unlink(missing_ok=True)  # as the message tells the person to do
        again = Respondent(path).answer(survey, ANSWERS)
        assert sent in ([], [again])
        sent_before += bool(sent)
    assert sent_before, "no child was quick enough"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_program_killed_while_it_writes_has_sent_nothing(tmp_path, survey, step):
    """The memory is as before or as after, and a line leaves only after."""
    path = tmp_path / "memory.json"
    true = getattr(os, step)
    for place in (1, 2):  # before and after the step

        def work(writer, place=place):
            def killed(*given):
                if place == 2:
                    true(*given)
                os.kill(os.getpid(), signal.SIGKILL)

            setattr(os, step, killed)
            answer_and_send(path, survey)(writer)

        code, sent = outcome(*spawn(work))
        assert code == -signal.SIGKILL and sent == []
        assert path.with_name("memory.json.lock").exists()
        path.with_name("memory.json.lock").unlink()
        found = json.loads(path.read_text()) if path.exists() else {"reports": {}}
        first, again = (Respondent(path).answer(survey, ANSWERS) for _ in range(2))
        assert first == again
        for report in found["reports"].values():
            assert json.loads(first)["r"]["place"] == report
        path.unlink()


def test_a_lock_that_stays_is_refused_before_anything_is_drawn(tmp_path, survey, monkeypatch):
    monkeypatch.setattr(respondent, "PATIENCE", 0.05)
    path, link = tmp_path / "memory.json", tmp_path / "link.json"
    path.write_text(json.dumps({"format": "sfumato memory 1", "chosen": {}, "reports": {}}))
    link.symlink_to(path)
    (tmp_path / "memory.json.lock").touch()
    before = path.read_bytes()
    for name in (path, link):
        for act in (lambda one: one.answer(survey, ANSWERS), lambda one: one.cost(survey)):
            with pytest.raises(ValueError, match=r"another program .* remove .*memory\.json\.lock"):
                act(Respondent(name))
    assert path.read_bytes() == before
    (tmp_path / "memory.json.lock").unlink()
    assert Respondent(link).answer(survey, ANSWERS) == Respondent(path).answer(survey, ANSWERS)
    assert link.is_symlink() and not (tmp_path / "memory.json.lock").exists()


def test_a_refused_answer_gives_the_lock_back(tmp_path, survey):
    someone = Respondent(tmp_path / "memory.json")
    for _ in range(2):
        with pytest.raises(ValueError, match="not shown"):
            someone.answer(survey, {"place": "secret"})
    assert list(tmp_path.iterdir()) == []
