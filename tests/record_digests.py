"""Digests of what every method releases under seeded bits: what a restructuring may not change.

`python tests/record_digests.py` writes the table tests/digests.json, a line an entry; with names of
methods (`PrivTree Spectrum`) it records only theirs, with `--missing` only those of methods that
have no entry yet. Every entry has digests, 16 digits each, of

- transcript: transcript.json and every member of transcript.npz, exactly as they are saved;
- values: what the attributes of the release say, floats to 9 digits;
- files: each saved file of its own, decimal numbers to 9 digits;
- plan: the losses and figures of its steps, and what is promised, without words;
- words: the plan as it is shown, without its figures, which hang on the last digits of floats.

Left out are certificate.json (time, versions, platform), README.txt (time, and words only),
report.html and pictures. Numbers that libraries computed differ in their last digits between
processors: hence 9 digits (5 for a Gibbs chain), and less than 1e-12 is nothing. Transcripts are
not rounded.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import tests.conftest  # noqa: F401  One thread, as in the tests.

import numpy as np

from sfumato import noise
from sfumato.privacy import door
from sfumato.privacy.method import InteractiveMethod, LocalMethod
from sfumato.privacy.record import record
from sfumato.privacy.registry import resolve
from sfumato.privacy.saved import PUBLIC, pretty
from tests.digest_cases import QUESTIONS, WAYS, Case, cases

TABLE = Path(__file__).with_name("digests.json")
SEED = 18
REFUSED = "refused"

#: What the release of each kind says. An attribute that is renamed is renamed here.
HELD: dict[str, Callable[[Any], Any]] = {
    "Answers": lambda r: r.answers,
    "Classifier": lambda r: (r.target, r.positive, r.weights),
    "CollectedGraph": lambda r: (r.edges, r.degrees, r.triangles, r.stars),
    "DegreeRelease": lambda r: (r.degrees, r.margin, r.histogram, r.mean),
    "FourierTables": lambda r: (r.total, r.sets, r.tables),
    "FrequentStrings": lambda r: (r.top(), r.limit),
    "NoisyTables": lambda r: (r.total, r.sets, r.tables),
    "NumberRelease": lambda r: (r.value, r.margin, r.largest),
    "RegressionModel": lambda r: (r.weights, r.offset, r.positive, r.covariance, r.deviation),
    "RegressionModels": lambda r: [HELD["RegressionModel"](model) for model in r.models.values()],
    "SequenceModel": lambda r: (r.total, r.limit, r.deviation, r.top(20)),
    "SpatialHistogram": lambda r: (r.total, r.deviation, r.cells.boxes, r.cells.counts),
    "SpectrumRelease": lambda r: (r.eigenvalues, r.parts.eigenvectors, r.edges, r.detectable),
    "StatisticRelease": lambda r: (r.value, r.standard_error, r.bias, r.measured),
    "SummaryRelease": lambda r: (r.edges.value, r.triangles.value, r.degrees, r.transitivity),
    "SyntheticGraph": lambda r: (r.graph.nodes, r.graph.pairs, r.moved, r.model.document()),
    "SyntheticTable": lambda r: (
        r.total,
        r.published_codes,
        [r.counts([column]) for column in r.public.columns],
        r.counts(r.public.columns),
    ),
}
#: Decimal numbers in a file.
_DECIMAL = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)(?![\w.])")


def digest(content: Any) -> str:
    """Return the first 16 digits of a hash of bytes, or of a plain document."""
    plain = content if isinstance(content, bytes) else json.dumps(content).encode()
    return hashlib.sha256(plain).hexdigest()[:16]


def rounded(value: float, digits: int = 9) -> str:
    """Return a float to some digits; less than 1e-12 is what rounding left of nothing."""
    return f"{value if abs(value) >= 1e-12 else 0.0:.{digits}g}"


def encode(value: Any, digits: int = 9) -> Any:
    """Return anything that a release says as a plain document, without names of attributes."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return rounded(value, digits)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.generic):
        return encode(value.item(), digits)
    if isinstance(value, np.ndarray):
        return [list(value.shape), [encode(item, digits) for item in value.ravel().tolist()]]
    if isinstance(value, dict):
        return [[encode(key, digits), encode(item, digits)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [encode(item, digits) for item in value]
    if is_dataclass(value):
        return [encode(getattr(value, item.name), digits) for item in fields(value)]
    raise TypeError(f"say how a {type(value).__name__} is encoded")


def file_digest(content: bytes, digits: int) -> str:
    """Return the digest of a text file with its decimal numbers rounded."""
    text = _DECIMAL.sub(lambda found: rounded(float(found[0]), digits), content.decode())
    return digest(text.encode())


def transcript_digest(files: dict[str, bytes]) -> str:
    """Return the digest of the files of a transcript, whatever the archive adds to its members."""
    document, archive = files.values()
    parts = [document]
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        for name in members.namelist():
            parts += [name.encode(), members.read(name)]
    return digest(b"\0".join(parts))


def release(method: Any, data: Any) -> tuple[Any, Any]:
    """Return what a method releases under seeded bits, and its transcript.

    It is run without the trial that precedes a release, whose draws would come first.
    """
    with noise.seeded(SEED):
        if isinstance(method, InteractiveMethod):
            session = method.open(data)
            for question in QUESTIONS:
                session.ask(question)
            made = session.close()
            return made, made.transcript
        transcript = record(method, data).transcript
        if isinstance(method, LocalMethod):
            # Clients hand out no report that is drawn from seeded bits, so the door is passed by.
            return door.rebuild_from_transcript(method, data.public, transcript), transcript
        specification = door.Specification.of(method, data.public)
        return door.build(specification, transcript, time="", ledger=None), transcript


def reported(made: Any) -> Any:
    """Return what clients reported: one report as it is, or the rows of many."""
    parts = getattr(made, "parts", None)
    if parts is not None:
        return [part.rows for part in parts.values()]
    return getattr(made, "rows", made)


def planned(method: Any, public: Any) -> tuple[Any, str]:
    """Return the losses and figures of a plan with what is promised, and the plan in words."""
    plan, promise = method.plan(public), method.guarantee(public).to_json()
    told = ("loss", "also", "unit", "relation", "contribution", "basis")
    steps = [[step.loss.to_json(), step.figures] for step in plan.steps]
    return encode([[promise[name] for name in told], steps]), str(plan)


def without_figures(words: str) -> str:
    """Return a plan without its figures, and without the widths of columns that follow them."""
    plain = re.sub(r"[-+]?[0-9][0-9,.]*(e[-+]?[0-9]+)?", "#", words)
    return re.sub(r"[-\s]+", " ", plain)


def prepared(case: Case) -> tuple[Any, Any] | None:
    """Return the method of a case and its data, or None where the method refuses them."""
    value = case.data()
    try:
        method = resolve(case.name)(**case.options)
        data = method.own(value) if isinstance(method, LocalMethod) else value
        if not isinstance(method, InteractiveMethod):
            data = door.keep_used(method, data)
        door.prepare(method, data.public)
    except ValueError:
        return None
    return method, data


def entry(case: Case) -> dict[str, Any] | str:
    """Return the line of a case."""
    ready = prepared(case)
    if ready is None:
        return REFUSED
    method, data = ready
    made, transcript = release(method, data)
    costs, words = planned(method, data.public)
    if isinstance(method, LocalMethod):
        values, files = reported(made), {}
    else:
        # What a release of another kind says is in its files.
        values = HELD.get(type(made).__name__, lambda r: None)(made)
        files = {**made.files(), PUBLIC: pretty(made.provenance.public.to_json())}
    return {
        "transcript": transcript_digest(transcript.to_files()),
        "values": digest(encode(values, case.digits)),
        "plan": digest(costs),
        "words": digest(without_figures(words)),
        "files": {name: file_digest(content, case.digits) for name, content in files.items()},
    }


def entries(name: str) -> dict[str, Any]:
    """Return the lines of a method."""
    return {case.key: entry(case) for case in cases(name)}


def read() -> dict[str, Any]:
    """Return the table."""
    table: dict[str, Any] = json.loads(TABLE.read_text())
    return table


def write(table: dict[str, Any]) -> None:
    """Write the table, sorted, a line an entry."""
    lines = [f"{json.dumps(key)}: {json.dumps(table[key])}" for key in sorted(table)]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main(wanted: list[str]) -> None:
    """Record the methods that are named, those that are missing, or all."""
    known = {name.partition(".")[2]: name for name in WAYS}
    held = {key.partition("/")[0] for key in read()}
    if wanted == ["--missing"]:
        names = [name for short, name in known.items() if short not in held]
        if not names and held <= known.keys():
            return
    else:
        names = [name for short, name in known.items() if not wanted or short in wanted]
    # What is recorded anew goes, and so do methods that have another name now.
    stays = known.keys() - {name.partition(".")[2] for name in names}
    table = {key: line for key, line in read().items() if key.partition("/")[0] in stays}
    for name in names:
        table |= entries(name)
    write(table)


if __name__ == "__main__":
    main(sys.argv[1:])
