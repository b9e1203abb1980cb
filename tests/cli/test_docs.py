from pathlib import Path

import pytest

from sfumato.cli.exits import MEANINGS

from .test_help import EVERY

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, _ in EVERY])
def test_every_command_is_documented(name):
    assert f"`sfumato {name} " in PAGE


def test_every_exit_code_is_documented_as_it_is():
    for code, words in MEANINGS.items():
        assert f"| {int(code)} | {words} |" in PAGE
