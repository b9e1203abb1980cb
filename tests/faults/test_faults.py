"""Nothing paid for is lost, and nothing is under-booked, whatever fails and whenever.

The long version, with every point of every scenario, is benchmarks/faults.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.privacy.ledger import Ledger
from sfumato.privacy.loss import PureDP
from sfumato.privacy.saved import verify

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("cc") is None,
        reason="the shim needs Linux and a C compiler",
    ),
]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "shim.c", "-ldl"], check=True
    )
    return library


@pytest.fixture
def inject(shim):
    def run(*words):
        environment = {**os.environ, "LD_PRELOAD": str(shim)}
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.harness", *map(str, words)],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    ("scenario", "stride"), [("release", 1), ("new-folder", 3), ("session", 3), ("create", 1)]
)
def test_a_kill_at_any_change_loses_nothing_that_was_paid_for(inject, scenario, stride):
    found = inject(scenario, "kill", stride)
    assert found["wrong"] == []
    # The last point is beyond the save: by then it is there, and at the first nothing is.
    assert found["tried"] == len(range(1, found["points"] + 1, stride)) and found["points"] > 20
    if scenario != "create":
        assert {"nothing booked", "spent without a result", "recovered"} <= set(found["outcomes"])


@pytest.mark.parametrize(("scenario", "stride"), [("release", 2), ("session", 5), ("create", 2)])
def test_a_kill_in_the_midst_of_a_write_loses_nothing_either(inject, scenario, stride):
    assert inject(scenario, "tear", stride)["wrong"] == []


@pytest.mark.parametrize(("scenario", "stride"), [("release", 1), ("session", 3), ("create", 2)])
def test_a_disk_that_is_full_from_some_moment_on_loses_nothing(inject, scenario, stride):
    found = inject(scenario, "full", stride)
    assert found["wrong"] == []
    # What is booked can be finished once there is room again: measuring is never in vain.
    assert "spent without a result" not in found["outcomes"]


@pytest.mark.parametrize(
    ("scenario", "stride"), [("release", 3), ("new-folder", 6), ("session", 6), ("create", 2)]
)
def test_a_power_cut_loses_nothing_that_was_reported(inject, scenario, stride):
    assert inject(scenario, "power", stride)["wrong"] == []


@pytest.mark.parametrize(
    ("mode", "stride", "mutant"),
    [
        ("kill", 7, "nothing kept"),
        ("power", 4, "names not synced"),
        ("power", 4, "content not synced"),
        ("power", 1, "saved names not synced"),
    ],
)
def test_a_program_without_one_of_its_precautions_is_caught(inject, mode, stride, mutant):
    scenario = "new-folder" if mutant == "saved names not synced" else "release"
    found = inject(scenario, mode, stride, 0, mutant)
    assert any("LOST" in text for text in found["wrong"])


RACER = """
import sys
from pathlib import Path
from sfumato.cli.exits import ExitCode, Refusal
from tests.faults.harness import release_into_a_claimed_folder
print("ready", flush=True)
sys.stdin.read()
try:
    release_into_a_claimed_folder(Path(sys.argv[1]), lambda text: None)
except Refusal as refusal:
    sys.exit(1 if refusal.code is ExitCode.USAGE else 3)
"""


def test_of_several_releases_into_one_folder_one_is_made_and_no_other_is_booked(tmp_path):
    import tests.privacy.toy  # noqa: F401 - the method that is released; verify looks it up

    Ledger.create(tmp_path / "x.ledger", allow=PureDP(100), unit="row")
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    for racer in racers:
        assert racer.stdout.readline() == b"ready\n"
    for racer in racers:  # All start when their pipe is closed.
        racer.stdin.close()
    codes = [racer.wait(60) for racer in racers]
    for racer in racers:
        racer.stdout.close()
    ledger = Ledger.open(tmp_path / "x.ledger")
    assert sorted(codes) == [0, 1, 1, 1, 1, 1]
    assert [entry.status for entry in ledger.history()] == ["released"]
    assert verify(tmp_path / "out", ledger=ledger).passed
    assert ledger.unsaved() == []
