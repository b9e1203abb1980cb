import os
import subprocess
import sys

import pytest
import typer.main

from sfumato.cli.exits import EPILOG, MEANINGS, ExitCode
from sfumato.cli.main import app

HEAVY = ("numba", "polars", "matplotlib", "scipy", "numpy", "duckdb", "pandas", "jinja2")
PROGRAM = f"""
import sys
from sfumato.cli.main import main
try:
    main()
except SystemExit as ending:
    code = ending.code
heavy = sorted(set({HEAVY!r}) & set(sys.modules))
print("CODE", code or 0, "HEAVY", heavy)
"""


def commands(group=None, path=()):
    """Yield every command of the program with its path."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


EVERY = [(" ".join(path), command) for path, command in commands()]


def program(*words, **environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["table", "--help"],
        ["table", "release", "--help"],
        ["points", "release", "--help"],
        ["sequences", "release", "--help"],
        ["graph", "release", "--help"],
        ["regress", "fit", "--help"],
        ["graph", "count", "--help"],
        ["attack", "inversion", "--help"],
        ["attack", "membership", "--help"],
    ],
)
def test_help_answers_without_importing_anything_heavy(words):
    before = os.times()
    answer = program(*words)
    after = os.times()
    assert answer.stdout.splitlines()[-1] == "CODE 0 HEAVY []"
    seconds = after.children_user + after.children_system
    seconds -= before.children_user + before.children_system
    assert seconds < 1


def test_every_group_is_there():
    answer = program("--help").stdout
    groups = (
        "demo",
        "table",
        "points",
        "sequences",
        "graph",
        "regress",
        "attack",
        "ledger",
        "verify",
        "report",
        "keygen",
    )
    for word in groups:
        assert word in answer


def test_completion_offers_groups_and_choices():
    offered = program(
        _SFUMATO_COMPLETE="complete_bash", COMP_WORDS="sfumato ta", COMP_CWORD="1"
    ).stdout
    assert "table" in offered and "ledger" not in offered
    methods = program(
        _SFUMATO_COMPLETE="complete_bash",
        COMP_WORDS="sfumato table release --method ",
        COMP_CWORD="4",
    ).stdout
    assert "marginals" in methods and "histogram" in methods


@pytest.mark.parametrize(("name", "command"), EVERY, ids=[name for name, _ in EVERY])
def test_every_command_takes_json_and_explains_its_exit_codes(name, command):
    options = {option for item in command.params for option in item.opts}
    assert "--json" in options
    assert command.epilog == EPILOG
    assert command.help


@pytest.mark.parametrize("kind", ["table", "points", "sequences", "graph"])
@pytest.mark.parametrize("name", ["plan", "rehearse", "release"])
def test_there_is_no_default_epsilon(kind, name):
    command = dict(EVERY)[f"{kind} {name}"]
    (epsilon,) = (item for item in command.params if "--epsilon" in item.opts)
    assert epsilon.required and epsilon.default is None


@pytest.mark.parametrize("name", ["plan", "rehearse", "fit"])
def test_a_regression_has_no_default_epsilon_and_no_default_target(name):
    command = dict(EVERY)[f"regress {name}"]
    for option in ("--epsilon", "--target"):
        (found,) = (item for item in command.params if option in item.opts)
        assert found.required and found.default is None


def test_every_exit_code_has_a_meaning():
    assert set(MEANINGS) == set(ExitCode)


def test_the_version_is_told(run):
    import sfumato

    assert run("--version").out.strip() == f"sfumato {sfumato.__version__}"
