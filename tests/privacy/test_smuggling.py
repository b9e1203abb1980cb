"""Nothing slips into a saved release: members, keys, rows, digits, slices, texts, damaged bytes."""

import json
import random

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.graph import Graph
from sfumato.privacy import keys
from sfumato.privacy.certificate import seal
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.saved import pretty, verify
from tests.privacy.smuggling import (
    WAYS,
    WITHIN_PLATFORM,
    NothingToDo,
    damage,
    is_caught,
    read_folder,
    smuggle,
    write_folder,
)
from tests.tabular import tables


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a saved table, a graph, points, and a number with its page."""
    home = tmp_path_factory.mktemp("saved")
    ledger = Ledger.create(home / "a.ledger", allow=sf.PureDP(5), unit="row")
    table = tables.table(tables.made(300))
    ring = Graph([(node, (node + 1) % 20) for node in range(20)], nodes=20)
    places = np.random.default_rng(1).random((200, 2))
    points = sf.Points(places, bounds=[(0, 1), (0, 1)], geographic=True)
    made = {
        "table": sf.Synthesizer(epsilon=1).release(table, ledger=ledger),
        "graph": sf.DKGraph(epsilon=3, order=1).release(ring),
        "points": sf.PrivTree(epsilon=2).release(points),
        "number": sf.SubgraphCount(epsilon=3).release(ring),
    }
    found = {name: release.save(home / name) for name, release in made.items()}
    sf.save_report(found["number"])
    return found


@pytest.fixture(autouse=True)
def _no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)


CASES = [
    (kind, way, ("table", "graph", "points")[number % 3])
    for kind, ways in WAYS.items()
    for number, way in enumerate(ways)
]


@pytest.mark.parametrize(
    ("kind", "way", "name"), CASES, ids=lambda item: getattr(item, "__name__", item)
)
def test_what_is_smuggled_in_is_caught(folders, tmp_path, kind, way, name):
    tried = 0
    for release in (name, "table", "number"):
        saved = read_folder(folders[release])
        for elsewhere in (False, True):
            if elsewhere and way in WITHIN_PLATFORM:
                continue
            try:
                assert smuggle(tmp_path, saved, way, tried, elsewhere=elsewhere), (
                    release,
                    elsewhere,
                )
            except NothingToDo:
                continue
            tried += 1
        if tried:
            return
    raise AssertionError("nothing was tried")


def test_an_honest_folder_that_is_written_again_passes(folders, tmp_path):
    for folder in folders.values():
        write_folder(tmp_path, *read_folder(folder))
        outcome = verify(tmp_path)
        assert outcome.passed, str(outcome)


def test_a_folder_from_another_platform_passes_and_says_what_differs(folders, tmp_path):
    files, document = read_folder(folders["points"])
    document["versions"]["numpy"] = "9.9.9"
    write_folder(tmp_path, files, document)
    assert verify(tmp_path).passed
    head, first, *rest = files["cells.csv"].split(b"\n")
    edges, count = first.rsplit(b",", 1)
    other = repr(round(float(count) + 0.001, 3)).encode()
    files["cells.csv"] = b"\n".join([head, edges + b"," + other, *rest])
    write_folder(tmp_path, files, document)
    outcome = verify(tmp_path)
    assert outcome.passed, str(outcome)
    assert "1 figure in the last digit differ, as they may on another platform" in str(outcome)
    assert "numpy 9.9.9 (here" in str(outcome)


def test_every_kind_of_damage_is_caught(folders, tmp_path):
    chance = random.Random(1)
    names = ("certificate.json", "transcript.json", "transcript.npz", "public.json", "README.txt")
    for folder in folders.values():
        files, document = read_folder(folder)
        files.pop("report.html", None)
        write_folder(tmp_path, files, document)
        for _ in range(60):
            place = tmp_path / chance.choice(names)
            original = place.read_bytes()
            place.write_bytes(damage(original, chance))
            assert place.read_bytes() == original or is_caught(tmp_path)
            place.write_bytes(original)
        assert verify(tmp_path).passed


@pytest.fixture
def signed(folders, tmp_path):
    """Return a signed folder and the public key."""
    keys.generate(tmp_path / "key.pem")
    files, document = read_folder(folders["graph"])
    folder = tmp_path / "signed"
    folder.mkdir()
    write_folder(folder, files, document)
    body = {name: item for name, item in document.items() if name not in ("digest", "signature")}
    place = folder / "certificate.json"
    place.write_bytes(pretty(seal(body, tmp_path / "key.pem")))
    return folder, keys.public_path(tmp_path / "key.pem")


def test_there_is_one_way_to_write_a_signature(signed):
    folder, key = signed
    place = folder / "certificate.json"
    original = place.read_bytes()
    assert verify(folder, key=key).passed
    document = json.loads(original)
    signature = document["signature"]
    forged = [
        {**signature, "algorithm": "ed25519"},
        {**signature, "algorithm": "none"},
        {**signature, "note": "Ada"},
        {name: item for name, item in signature.items() if name != "fingerprint"},
        *({**signature, name: signature[name].upper()} for name in ("value", "public_key")),
        *({**signature, name: signature[name].swapcase()} for name in ("fingerprint", "value")),
        *({**signature, name: f"{signature[name]} "} for name in signature),
        *({**signature, name: f" {signature[name]}"} for name in signature),
        *(
            {**signature, "value": f"{signature['value'][:n]} {signature['value'][n:]}"}
            for n in (2, 64)
        ),
        [signature],
        "",
        {},
    ]
    for other in forged:
        place.write_bytes(pretty({**document, "signature": other}))
        assert is_caught(folder, key=key) and is_caught(folder), other
    chance = random.Random(2)
    start, end = original.index(b'"signature"'), original.rindex(b"}")
    for _ in range(200):
        at = chance.randrange(start, end)
        byte = bytes([chance.choice(b'0123456789abcdefABCDEF \n\t",{}')])
        place.write_bytes(original[:at] + byte + original[at + 1 :])
        assert place.read_bytes() == original or is_caught(folder, key=key)
        assert place.read_bytes() == original or is_caught(folder)


def test_nothing_is_rebuilt_after_a_hash_or_a_signature_failed(signed, monkeypatch):
    from sfumato.privacy import saved

    def never(*arguments):
        raise AssertionError("a release was rebuilt whose hashes or signature failed")

    folder, key = signed
    monkeypatch.setattr(saved, "_rebuild", never)
    original = (folder / "edges.csv").read_bytes()
    (folder / "edges.csv").write_bytes(original + b"0,1\n")
    assert "never" not in str(verify(folder)) and len(verify(folder).checks) == 2
    (folder / "edges.csv").write_bytes(original)
    place = folder / "certificate.json"
    document = json.loads(place.read_bytes())
    document["signature"]["value"] = "0" * 128
    place.write_bytes(pretty(document))
    assert len(verify(folder, key=key).checks) == 2 and not verify(folder).passed


def test_a_ledger_that_was_not_given_was_not_checked(folders):
    words = str(verify(folders["table"]))
    assert "It states that it is booked as a.ledger#1; that was not checked" in words
    assert "It is booked as" not in words
    ledger = Ledger.open(folders["table"].parent / "a.ledger")
    checked = str(verify(folders["table"], ledger=ledger))
    assert "It is booked as a.ledger#1 and composed" in checked and "not checked" not in checked


def test_a_page_that_was_edited_is_caught(folders, tmp_path):
    files, document = read_folder(folders["number"])
    page = files["report.html"].decode()

    def outcome_of(other):
        write_folder(tmp_path, {**files, "report.html": other.encode()}, document)
        return verify(tmp_path)

    def said_elsewhere(other):
        return other.replace("; Matplotlib ", "; Matplotlib 9.", 1)

    lies = ((" epsilon = 0.0001", "</h1>"), ("<!-- Ada -->", "</svg>"), (" ", "</html>"))
    for lie, place in lies:
        forged = page.replace(place, lie + place, 1)
        assert "not the page of this release" in str(outcome_of(forged))
        # Nor does it help to say that the page was drawn elsewhere.
        assert not outcome_of(said_elsewhere(forged)).passed
    honest = outcome_of(said_elsewhere(page))
    assert honest.passed and "only the texts of its pictures were compared" in str(honest)
    # A page is drawn anew over one that was forged.
    (tmp_path / "report.html").write_text("<p>")
    assert not verify(tmp_path).passed
    sf.save_report(tmp_path)
    assert verify(tmp_path).passed
