import re

import numpy as np
import pytest

from sfumato.audit.events import Event
from sfumato.audit.picture import draw_audit, save_picture
from sfumato.audit.sampling import AuditResult
from sfumato.privacy.loss import ApproxDP, PureDP


def result(here, there, threshold, *, claimed=None, bound=0.93):
    return AuditResult(
        pair="empty, and one",
        claimed=PureDP(1) if claimed is None else claimed,
        bound=bound,
        confidence=0.999,
        trials=2 * len(here),
        event=Event("classifier", threshold),
        p=0.6543,
        q=0.2581,
        curve=((0.0, bound),),
        scores=(np.asarray(here, dtype=float), np.asarray(there, dtype=float)),
    )


def smooth():
    generator = np.random.default_rng(1)
    return result(generator.normal(1, 1, 500), generator.normal(0, 1, 500), 0.5)


def texts(figure):
    (axis,) = figure.axes
    said = [text.get_text() for text in [*axis.texts, *axis.get_legend().get_texts()]]
    return "\n".join([figure.get_suptitle(), axis.get_xlabel(), axis.get_ylabel(), *said])


def test_the_picture_tells_pair_event_probabilities_and_bound():
    said = texts(draw_audit(smooth()))
    for part in (
        "empty, and one: not refuted",
        "p = 0.6543",
        "q = 0.2581",
        "ε̂ = 0.930",
        "score ≥ 0.5",
        "ln p/q",
        "99.9 %",
        "ε = 1 promised",
        "classifier",
        "500 test outputs",
    ):
        assert part in said


def test_a_refutation_is_called_one():
    refuted = result([1.0] * 9 + [0.0], [1.0] + [0.0] * 9, 1.0, bound=1.5)
    assert "empty, and one: REFUTED" in texts(draw_audit(refuted))


def test_delta_enters_the_formula():
    claimed = ApproxDP(1, "1/1000")
    said = texts(draw_audit(result([1.0, 0.0], [0.0, 0.0], 1.0, claimed=claimed)))
    assert "ln (p − δ)/q" in said


def test_few_values_get_a_pair_of_bars_each_and_the_event_is_shaded():
    here, there = [0.0, 1.0, 1.0, 1e6], [0.0, 0.0, 0.0, 1.0]
    (axis,) = draw_audit(result(here, there, 1.0)).axes
    first, second = ([bar.get_height() for bar in group] for group in axis.containers)
    assert first == [0.25, 0.5, 0.25] and second == [0.75, 0.25, 0.0]
    # The dashed line stands between 0 and 1, the second value.
    (line,) = axis.lines
    assert list(line.get_xdata()) == [0.5, 0.5]


def test_values_that_differ_in_the_last_digit_are_one():
    (axis,) = draw_audit(result([1.0, 1 - 1e-15, 0.0], [0.0, 0.0, 1.0], 1 - 1e-15)).axes
    first, _ = ([bar.get_height() for bar in group] for group in axis.containers)
    assert first == pytest.approx([1 / 3, 2 / 3])


def test_bins_hold_every_output_and_split_at_the_threshold():
    drawn = smooth()
    (axis,) = draw_audit(drawn).axes
    outlines = [patch for patch in axis.patches if hasattr(patch, "get_data")]
    assert len(outlines) == 4
    for patch, scores in zip(outlines[::2], drawn.scores, strict=True):
        data = patch.get_data()
        assert data.values.sum() == pytest.approx(1)
        event = data.values[data.edges[:-1] >= 0.5 - 1e-9].sum()
        assert event == pytest.approx(np.mean(scores >= 0.5))


@pytest.mark.parametrize("threshold", [-50.0, 50.0])
def test_an_event_of_everything_or_nothing_can_be_drawn(threshold, tmp_path):
    shown = smooth()
    save_picture(result(*shown.scores, threshold), tmp_path / "a.svg")
    assert "</svg>" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_all_equal_scores_can_be_drawn(tmp_path):
    save_picture(result([0.0] * 5, [0.0] * 5, 0.0, bound=-0.1), tmp_path / "a.svg")
    assert "ε̂ = 0.000" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_files_hold_texts_and_are_the_same_every_time(tmp_path):
    first = save_picture(smooth(), tmp_path / "a.svg").read_bytes()
    assert first == save_picture(smooth(), tmp_path / "b.svg").read_bytes()
    assert re.search(r"<text[^>]*>[^<]*not refuted", first.decode())
    assert save_picture(smooth(), tmp_path / "a.png").read_bytes()[1:4] == b"PNG"


def test_other_kinds_of_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a picture must be a \.svg or \.png file"):
        save_picture(smooth(), tmp_path / "a.gif")
