import json

import sfumato as sf
from sfumato.local import RandomizedResponse


def test_the_function_says_and_finds_what_the_command_does(run):
    words = ("audit", "randomizedresponse", "--epsilon", "1", "--trials", "200", "--seed", "3")
    document = run(*words, "--json").document
    method = RandomizedResponse(epsilon=1, answers=("yes", "no", "no answer"))
    result = json.loads(json.dumps(sf.audit(method, method.public, trials=200, seed=3).to_json()))
    assert {name: document[name] for name in result} == result
    assert set(document) - set(result) == {"ok", "picture"}
