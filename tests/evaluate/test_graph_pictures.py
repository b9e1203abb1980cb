import io

import numpy as np
import pytest

import sfumato as sf
from sfumato.evaluate.graph_pictures import LABEL, draw_degrees, picture


def texts(figure):
    """Return everything that is written on a figure."""
    buffer = io.StringIO()
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def ring():
    edges = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    return sf.Graph(edges, 30)


@pytest.mark.parametrize("mechanism", ["ladder", "smooth", "laplace"])
def test_the_law_of_a_count_is_drawn_with_the_truth_and_what_was_released(ring, mechanism):
    method = sf.SubgraphCount(epsilon=1, mechanism=mechanism)
    release = method.release(ring)
    told = texts(picture(ring, release))
    assert "NOT PRIVATE" in told
    assert "the truth, 30" in told and f"what was released, {release.value:,}" in told
    assert f"half of all releases, 30 ± {method.expected_error(ring):,}" in told


def test_the_law_of_a_count_that_was_cut_first_is_not_around_the_truth():
    fan = sf.Graph([(0, 1), *((end, leaf) for leaf in range(2, 12) for end in (0, 1))], 12)
    release = sf.SubgraphCount(epsilon=1, mechanism="recursive").release(fan)
    assert "the truth, 10" in texts(picture(fan, release))


def test_degrees_are_drawn_beside_the_true_ones(ring):
    for method in (sf.DegreeSequence(epsilon=1), sf.GraphSummary(epsilon=1)):
        told = texts(picture(ring, method.release(ring)))
        assert "NOT PRIVATE" in told and "the truth" in told
    assert LABEL.startswith("NOT PRIVATE")


def test_a_graph_without_edges_has_a_picture():
    told = texts(draw_degrees(np.zeros(4, dtype=np.int64), np.zeros(4)))
    assert "no node has an edge" in told


def test_huge_counts_are_drawn_by_their_first_digits():
    star = sf.Graph([(0, leaf) for leaf in range(1, 60)], 60)
    release = sf.SubgraphCount(epsilon=1, shape="star", k=30).release(star)
    assert "the truth, 5.913e+16" in texts(picture(star, release))


def test_other_releases_have_no_such_picture(ring):
    release = sf.GraphStatistic(epsilon=1, expression="edges").release(ring)
    with pytest.raises(ValueError, match="kind statistic cannot be drawn"):
        picture(ring, release)
