"""The clients that run alone distrust survey files, memories and other programs, in both languages.

Every survey here that is refused once told the truth, or more than was booked.
"""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

# Exact laws, which no version of a library can change: tested once.
pytestmark = pytest.mark.replay

ROOT = Path(__file__).parent.parent.parent
WORD = 2**64
KEY = "sfumato-local"

RESPOND = """
    import { readFileSync } from "node:fs";
    import { Respondent, forgetful, systemWord } from "%s";
    const cases = JSON.parse(readFileSync(0, "utf8"));
    console.log(JSON.stringify(cases.map(({ survey, memory, waves }) => {
      const storage = forgetful();
      if (memory !== null) storage.setItem(Respondent.KEY, memory);
      let words = 0;
      const word = () => { words += 1; return systemWord(); };
      const told = waves.map(({ answers, allow }) => {
        try {
          return { line: new Respondent({ storage, allow }).answer(survey, answers, word) };
        } catch (error) {
          return { error: error.message };
        }
      });
      return { told, words, memory: storage.getItem(Respondent.KEY) };
    })));
"""


@pytest.fixture(scope="module")
def client():
    path = ROOT / "client" / "sfumato_local.py"
    spec = importlib.util.spec_from_file_location("sfumato_local", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sfumato_local"] = module
    spec.loader.exec_module(module)
    return module


def node(script, text="", **options):
    """Return what a script prints under Node, or skip the test."""
    if shutil.which("node") is None:
        pytest.skip("Node is needed for the JavaScript client")
    place = (ROOT / "js" / "sfumato-local.mjs").as_uri()
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script.replace("%s", place)],
        input=text, capture_output=True, text=True, timeout=60, **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(params=["python", "javascript"])
def respond(request, client, tmp_path):
    """Return what answers cases in one language: what is told, kept, and how many words it took."""

    def in_python(cases):
        return [answered(client, tmp_path / f"{n}.json", case) for n, case in enumerate(cases)]

    def in_javascript(cases):
        return json.loads(node(RESPOND, json.dumps(cases)))

    return in_python if request.param == "python" else in_javascript


def answered(client, path, case):
    words = [0]

    def word():
        words[0] += 1
        return client.system_word()

    if case["memory"] is not None:
        path.write_text(case["memory"], encoding="utf-8")
    told = []
    for wave in case["waves"]:
        try:
            someone = client.Respondent(path, wave["allow"])
            told.append({"line": someone.answer(case["survey"], wave["answers"], word)})
        except ValueError as error:
            told.append({"error": str(error)})
    kept = path.read_text(encoding="utf-8") if path.exists() else None
    return {"told": told, "words": words[0], "memory": kept}


def question(law, **changed):
    """Return a question with the answers a, b and c at no cost, or what is changed of it."""
    told = {
        "id": "i", "name": "x", "ask": "", "permanent": False, "epsilon": "0",
        "answers": ["a", "b", "c"], "law": law, **changed,
    }  # fmt: skip
    return {key: value for key, value in told.items() if value is not None}


def survey(*questions, **changed):
    told = {"format": "sfumato survey 1", "id": "s", "name": "s", "share": "split"}
    return {**told, "epsilon": "0", "tables": [], "questions": list(questions), **changed}


def case(survey, *answers, allow="1000", memory=None):
    waves = [{"answers": given, "allow": allow} for given in answers]
    return {"survey": survey, "waves": waves, "memory": memory}


def randomised(answers, threshold=WORD // 2, **more):
    law = {"kind": "randomised response", "answers": answers, "threshold": str(threshold)}
    return {**law, "named": True, **more}


def matrix(*columns, **more):
    return {"kind": "matrix response", "ends": [list(map(str, ends)) for ends in columns], **more}


def bit(least, rise):
    return {"kind": "bit of a number", "least": str(least), "rise": str(rise)}


def place(steps, window=1, threshold=WORD // 2):
    numbers = {"steps": steps, "window": window, "threshold": str(threshold)}
    return {"kind": "place of a number", **numbers}


PAIR = {"answers": ["a", "b"]}
NUMBER = {"answers": None, "low": 0, "high": 10, "steps": 10}
UNARY = {"kind": "unary response", "answers": 3, "held": "9", "other": "9"}
SUBSET = {"kind": "subset response", "answers": 3, "size": 1, "threshold": str(WORD // 3)}
HADAMARD = {"kind": "hadamard response", "order": 4, "threshold": str(WORD // 2)}
HASH = {"kind": "hash response", "width": str(WORD // 2), "threshold": str(WORD // 2)}
ENDLESS = 1 << 1024
EVEN = [WORD // 2, WORD]

#: Laws that cost nothing and say nothing: each is answered at ε = 0.
HARMLESS = [
    question(randomised(2), **PAIR),
    question(UNARY),
    question({**SUBSET, "size": 3}),
    question(HADAMARD),
    question(HASH),
    question(matrix(EVEN, EVEN, EVEN)),
    question(matrix([0, *EVEN], [0, *EVEN], [0, *EVEN], named=True)),
    question(bit(5, 0), **NUMBER),
    question(place(10, 10), **NUMBER),
    question(randomised(1, 0), answers=["a"]),
]

#: Each of these told the truth, or is next to one that did.
HOSTILE = {
    "one answer in the law": question(randomised(1, 1)),
    "fewer answers in the law": question(randomised(2), epsilon="1"),
    "more answers in the law": question(randomised(4, WORD // 4)),
    "answers of the law no number": question(randomised(True), answers=["a"]),
    "the truth least often": question(randomised(2, 1), **PAIR),
    "always": question(randomised(2, WORD), **PAIR, epsilon="1000"),
    "never": question(randomised(2, 0), **PAIR, epsilon="1000"),
    "a negative threshold": question(randomised(2, -5), **PAIR, epsilon="1000"),
    "a threshold as a number": question({**randomised(2), "threshold": 2**62}, **PAIR, epsilon="9"),
    "no threshold": question({"kind": "randomised response", "answers": 2}, **PAIR, epsilon="9"),
    "unary upside down": question({**UNARY, "held": "1", "other": str(WORD - 1)}),
    "unary of fewer": question({**UNARY, "answers": 2}),
    "a set of all of one": question({**SUBSET, "answers": 1}),
    "a set of none": question({**SUBSET, "size": 0}, epsilon="9"),
    "a set of more than all": question({**SUBSET, "size": 4}, epsilon="9"),
    "a set upside down": question({**SUBSET, "threshold": "1"}),
    "hadamard of two": question({**HADAMARD, "order": 2, "threshold": "1"}),
    "hadamard, row 0 told": question({**HADAMARD, "order": 2}),
    "hadamard of six": question({**HADAMARD, "order": 6}),
    "hadamard upside down": question({**HADAMARD, "threshold": "1"}),
    "hash upside down": question({**HASH, "threshold": "1"}),
    "hash of everything": question({**HASH, "width": str(WORD)}),
    "hash of nothing": question({**HASH, "width": "0"}),
    "matrix that lacks mass": question(
        matrix([WORD], [WORD // 2], [WORD // 2]), epsilon="7/10"
    ),
    "matrix with uneven columns": question(
        matrix([1, 2], [1, 2, WORD], [1, 2, 3, WORD]), epsilon="100"
    ),
    "matrix with uneven whole columns": question(
        matrix([1, WORD], [1, 2, WORD], [1, 2, 3, WORD]), epsilon="100"
    ),
    "matrix of fewer": question(matrix(EVEN, EVEN)),
    "matrix that falls": question(matrix([9, 3, WORD], [9, 3, WORD], [9, 3, WORD])),
    "matrix with a report of one answer": question(
        matrix([0, WORD], [1, WORD], [1, WORD]), epsilon="1000"
    ),
    "matrix with empty columns": question(matrix([], [], [])),
    "matrix without names": question(matrix(EVEN, EVEN, EVEN, named=True)),
    "names of a set": question({**SUBSET, "named": True}, epsilon="9"),
    "a place on another grid": question(place(1), **NUMBER),
    "a place of an answer": question(place(2)),
    "a place without a window": question(place(10, 0), **NUMBER, epsilon="9"),
    "a place with a half": question(place(10, 1.5), **NUMBER, epsilon="9"),
    "a bit that falls": question(bit(WORD - 1, 2 - WORD), answers=None, low=0, high=1, steps=1),
    "a bit of an answer": question(bit(1, WORD - 2), steps=0),
    "a bit of an answer with steps": question(bit(1, 0), steps=1),
    "a bit beyond a word": question(bit(WORD - 2, 1), **NUMBER, epsilon="1000"),
    "a number upside down": question(bit(5, 0), **{**NUMBER, "low": 10, "high": 0}),
    "a number without end": question(bit(5, 0), **{**NUMBER, "low": -1.5e308, "high": 1.5e308}),
    "a number of no steps": question(bit(5, 0), **{**NUMBER, "steps": 0}),
    "edges that are too many": question(randomised(2), **PAIR, edges=[0, 1, 2, 3]),
    "edges that fall": question(randomised(2), **PAIR, edges=[0, 3, 2]),
    "edges that are none": question(randomised(2), answers=["a", "b"], edges="ab"),
    "answers twice": question(randomised(2), answers=["a", "a"]),
    "answers as text": question(randomised(3, WORD // 3), answers="abc"),
    "no answers": question(randomised(1, 1), answers=[]),
    "parts of fewer": question(
        randomised(2), answers=None, parts=[{"name": n, **PAIR} for n in "xy"]
    ),
    "parts in parts": question(
        randomised(2), answers=None,
        parts=[{"name": "y", **PAIR, "parts": [{"name": "x", "answers": ["a", "b", "c"]}]}],
    ),
    "an unknown law": question({"kind": "toString", "answers": 3}),
    "no law": question([]),
    "an epsilon that overflows": question(
        randomised(3, WORD), epsilon=f"{ENDLESS}/{ENDLESS - (1 << 970) - (1 << 969)}"
    ),
}  # fmt: skip


def true_answers(asked):
    """Return answers that a question can be asked for."""
    if "steps" in asked and "answers" not in asked:
        return [{"x": number} for number in (0, 3, 10)]
    if "parts" in asked:
        return [{"x": "c", "y": "a"}]
    return [{"x": answer} for answer in "abc"]


def test_a_law_that_does_not_fit_its_question_is_refused_before_anything_is_drawn(respond):
    cases = [
        case(survey(asked, epsilon="1000"), *true_answers(asked)) for asked in HOSTILE.values()
    ]
    for label, found in zip(HOSTILE, respond(cases), strict=True):
        assert all("do not answer" in told.get("error", "") for told in found["told"]), label
        assert found["words"] == 0 and found["memory"] is None, label


def test_laws_that_fit_are_answered(respond):
    cases = [case(survey(asked), true_answers(asked)[0], allow="0") for asked in HARMLESS]
    for asked, found in zip(HARMLESS, respond(cases), strict=True):
        assert "line" in found["told"][0], (asked, found)
        assert json.loads(found["memory"])["spent"] == "0"


def test_numbers_beyond_all_bounds_count_as_the_ends(client):
    for asked, last in ((question(bit(5, 0), **NUMBER), 10), (question({}, edges=[0, 1, 2, 3]), 2)):
        found = [client.encode(asked, given) for given in (-(10**400), -9e999, 10**400, 9e999)]
        assert found == [0, 0, last, last]


WRONG_EPSILONS = [
    "1/0", "0/0", "-1/-1", "", "1e1", "1.1", -1, 2, None, True, "11/10/7", " 2 ", "0x2", "²", "2\n",
    "2_0", "1" * 301, "1/" + "3" * 301,
]  # fmt: skip


def test_what_is_booked_is_a_fraction_and_no_more_than_the_survey_says(respond):
    pair = question(randomised(2, WORD * 3 // 4), **PAIR, epsilon="11/10")
    wrong = [survey({**pair, "epsilon": epsilon}, epsilon="1000") for epsilon in WRONG_EPSILONS]
    wrong += [survey(pair, epsilon=epsilon) for epsilon in WRONG_EPSILONS]
    both = [pair, {**pair, "name": "y"}]
    wrong += [
        survey(pair, epsilon="109/100"),
        survey(*both, epsilon="219/100"),
        survey(*both, share="sample", epsilon="1"),
        survey(pair, pair, epsilon="9"),
        survey(*both, share="all", epsilon="9"),
        survey(epsilon="9"),
        survey({**pair, "permanent": 1}, epsilon="9"),
    ]
    right = [
        survey(pair, epsilon="11/10"),
        survey(*both, epsilon="11/5"),
        survey(*both, share="sample", epsilon="11/10"),
    ]
    given = {"x": "a", "y": "b"}
    told = [found["told"][0] for found in respond([case(one, given) for one in wrong + right])]
    assert ["error" in found for found in told] == [True] * len(wrong) + [False] * len(right)


def test_one_unit_of_a_word_more_than_epsilon_allows_is_too_much(respond):
    vectors = json.loads((ROOT / "js" / "vectors.json").read_text(encoding="utf-8"))
    cases = []
    for example in vectors["questions"]:
        asked, answer = example["question"], example["draws"][0]["answer"]
        if asked["law"]["kind"] in ("randomised response", "hadamard response"):
            raised = {**asked["law"], "threshold": str(int(asked["law"]["threshold"]) + 1)}
            given = {asked["name"]: answer}
            cases += [
                case(survey(one, epsilon="3/2"), given) for one in (asked, {**asked, "law": raised})
            ]
    told = [found["told"][0] for found in respond(cases)]
    assert ["line" in found for found in told] == [True, False] * (len(cases) // 2)
    assert all("costs more than the survey says" in found["error"] for found in told[1::2])


def test_both_clients_refuse_the_same_files(client, tmp_path):
    draw = random.Random(1)
    vectors = json.loads((ROOT / "js" / "vectors.json").read_text(encoding="utf-8"))
    small = [
        example for example in vectors["questions"]
        if len(example["question"].get("answers", ())) <= 5
    ]  # fmt: skip
    cases = []
    for _ in range(300):
        example = draw.choice(small)
        asked = json.loads(json.dumps(example["question"]))
        changed = draw.choice([asked, asked["law"], asked["law"]])
        key = draw.choice([name for name in changed if name not in ("name", "ask")])
        values = ["1", str(WORD), "0", "3/2", 1, 2, 4, 8, 65536, -1, 0.5, True, None, [], {}, "x"]
        changed[key] = draw.choice(values)
        given = {asked["name"]: example["draws"][0]["answer"]}
        cases.append(case(survey(asked, epsilon="100"), given))
    in_python = [
        answered(client, tmp_path / f"{number}.json", one) for number, one in enumerate(cases)
    ]
    in_javascript = json.loads(node(RESPOND, json.dumps(cases)))
    refused = [
        ["error" in found["told"][0] for found in told] for told in (in_python, in_javascript)
    ]
    assert refused[0] == refused[1] and 0 < sum(refused[0]) < len(cases)


def test_an_exponential_is_never_above_what_it_is_and_hardly_below(client):
    for epsilon in ("0", "1/1000000", "1", "3/2", "100", "128", "1000"):
        found = Fraction(client.exponential_below(Fraction(epsilon)), 1 << client.PRECISION)
        # The series with its rest bounded by twice the next term.
        capped, term, total = min(Fraction(epsilon), Fraction(128)), Fraction(1), Fraction(1)
        for step in range(1, 600):
            term = term * capped / step
            term = Fraction(int(term * 2**400), 2**400)
            total += term
        assert total * (1 - Fraction(1, 2**230)) <= found <= total + Fraction(1, 2**300)


# One question each


def of_two(**changed):
    law = randomised(2, WORD * 3 // 4)
    asked = [question(law, id=n, name=n, answers=["y", "n"], epsilon="11/10") for n in "ab"]
    return survey(*asked, share="sample", epsilon="11/10", **changed)


def test_an_answer_left_out_is_refused_whichever_question_would_be_drawn(respond):
    found = respond([case(of_two(), *[{"a": "y"}] * 20)])[0]
    assert all("b: not one of the answers" in told["error"] for told in found["told"])
    assert found["words"] == 0 and found["memory"] is None


def test_the_question_that_is_drawn_stays_when_its_report_is_refused(respond):
    given = {"a": "y", "b": "y"}
    cases = []
    for _ in range(40):
        cases.append(case(of_two(), given, given, given, allow="0"))
        cases[-1]["waves"][2] = {"answers": given, "allow": "2"}
    drawn = set()
    for found in respond(cases):
        assert ["would cost" in told.get("error", "") for told in found["told"]] == [1, 1, 0]
        chosen = json.loads(found["memory"])["chosen"]["s"]
        assert list(json.loads(found["told"][2]["line"])["r"]) == [chosen]
        # One word for the question, one or two for the report: nothing was drawn twice.
        assert found["words"] <= 3
        drawn.add(chosen)
    # Both come up but with a probability of 2^-39.
    assert drawn == {"a", "b"}


# Memories


def test_a_memory_of_another_kind_is_refused_and_left_alone(respond):
    pair = question(randomised(2, WORD * 3 // 4), **PAIR, epsilon="11/10")
    sound = {"format": "sfumato memory 1", "chosen": {}, "reports": {}, "spent": "0"}
    wrong = [
        "", "nonsense", "[]", "null", '{"reports":{}}',
        *(
            json.dumps({**sound, **change})
            for change in (
                {"format": "x"}, {"spent": "-100"}, {"spent": 0}, {"spent": "0/0"},
                {"reports": []}, {"chosen": None},
            )
        ),
    ]  # fmt: skip
    cases = [case(survey(pair, epsilon="2"), {"x": "a"}, memory=text) for text in wrong]
    for text, found in zip(wrong, respond(cases), strict=True):
        assert "does not hold what this client remembers" in found["told"][0]["error"]
        assert found["memory"] == text and found["words"] == 0
    lost = json.dumps({**sound, "chosen": {"s": "c"}})
    found = respond([case(of_two(), {"a": "y", "b": "y"}, memory=lost)])[0]
    assert "none of this survey" in found["told"][0]["error"]


@pytest.mark.parametrize("name", ["toString", "__proto__", "constructor", "hasOwnProperty"])
def test_names_that_every_object_has_are_names_like_others(respond, name):
    law = randomised(2, WORD * 3 // 4)
    asked = question(law, id=name, name=name, **PAIR, epsilon="11/10", permanent=True)
    told = survey(asked, id=name, share="sample", epsilon="11/10")
    found = respond([case(told, {name: "a"}, {name: "a"}), case(told, {})])
    lines = [json.loads(one["line"]) for one in found[0]["told"]]
    assert lines[0] == lines[1] and list(lines[0]["r"]) == [name]
    kept = json.loads(found[0]["memory"])
    assert kept["spent"] == "11/10" and list(kept["reports"]) == [name]
    assert "not one of the answers" in found[1]["told"][0]["error"]


# Several programs at once


def test_two_programs_never_answer_with_one_memory_at_once(client, tmp_path):
    told = survey(question(randomised(2, WORD * 3 // 4), **PAIR, epsilon="11/10"), epsilon="11/10")
    path = tmp_path / "memory.json"
    tried = []

    def word():
        with pytest.raises(ValueError, match=r"another program is answering .* remove .*\.lock"):
            client.Respondent(path, "11/10").answer(told, {"x": "a"})
        tried.append(1)
        return client.system_word()

    client.Respondent(path, "11/10").answer(told, {"x": "a"}, word)
    assert tried
    for _ in range(2):
        # A refusal takes the lock away, too.
        with pytest.raises(ValueError, match="would cost 11/5"):
            client.Respondent(path, "11/10").answer(told, {"x": "a"})
    assert [file.name for file in tmp_path.iterdir()] == ["memory.json"]
    (tmp_path / "memory.json.lock").touch()
    with pytest.raises(ValueError, match="If none runs any more"):
        client.Respondent(path, "3").answer(told, {"x": "a"})


def test_a_draft_that_cannot_be_written_is_removed_and_nothing_is_sent(
    client, tmp_path, monkeypatch
):
    told = survey(question(randomised(2), **PAIR))

    def broken(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(client.os, "replace", broken)
    with pytest.raises(OSError, match="full"):
        client.Respondent(tmp_path / "memory.json", 1).answer(told, {"x": "a"})
    assert not list(tmp_path.iterdir())


def test_tabs_take_turns_and_a_storage_that_forgets_is_refused():
    told = survey(question(randomised(2, WORD * 3 // 4), **PAIR, epsilon="11/10"), epsilon="11/10")
    script = """
        import { Respondent, forgetful } from "%s";
        const survey = JSON.parse(process.argv[1]);
        const said = [];
        const tell = (error) => said.push(error.message);
        let turn = Promise.resolve();
        const locks = { request: (name, act) => (turn = turn.then(() => said.push(name)).then(act)) };
        const storage = forgetful();
        const tab = () => new Respondent({ storage, allow: "11/10", locks });
        await Promise.allSettled([1, 2].map(() => tab().answerAlone(survey, { x: "a" }).catch(tell)));
        const alone = new Respondent({ storage, allow: "9", locks: null });
        await alone.answerAlone(survey, { x: "a" }).catch(tell);
        const lost = { getItem: () => null, setItem: () => {} };
        try {
          new Respondent({ storage: lost, allow: "9" }).answer(survey, { x: "a" });
        } catch (error) {
          tell(error);
        }
        console.log(JSON.stringify(said));
    """  # noqa: E501
    if shutil.which("node") is None:
        pytest.skip("Node is needed for the JavaScript client")
    said = json.loads(node(script.replace("process.argv[1]", json.dumps(json.dumps(told)))))
    assert said[:2] == [KEY, KEY] and "would cost 11/5" in said[2]
    assert "no navigator.locks" in said[3] and "does not keep" in said[4]


def test_the_command_line_never_shows_an_answer(tmp_path):
    asked = question(bit(5, 0), **NUMBER)
    (tmp_path / "survey.json").write_text(json.dumps(survey(asked)), encoding="utf-8")
    words = [sys.executable, "-I", "-S", ROOT / "client" / "sfumato_local.py", "survey.json"]
    words += ["--allow", "1", "--answer", "x=secret"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr == "x: not a number\n"
