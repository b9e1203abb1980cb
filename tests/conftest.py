"""What holds for all tests."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Tests run side by side, one process for each core, and their matrices are small. Threads of the
# linear algebra would wait for one another most of the time: audits then take ten times as long.
# They are counted when NumPy is imported, and workers inherit the environment.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Witnesses of ledgers are kept in the user's own folder: that of the tests is another one.
_home = tempfile.mkdtemp(prefix="sfumato-tests-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ["XDG_CONFIG_HOME"] = _home
os.environ.pop("SFUMATO_WITNESS", None)

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests.skips import refuse_skip  # noqa: E402

# How long an example takes depends on what else the machine does, and fails nothing.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that is skipped for a reason nobody stated."""
    return refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Fail a module that is skipped for a reason nobody stated."""
    return refuse_skip((yield))


@pytest.fixture
def little_memory():
    """Take at most 2 GiB more than the process has, while a test runs."""
    import resource

    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    taken = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (taken + 2**31, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)
