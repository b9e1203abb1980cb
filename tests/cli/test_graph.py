import gzip
import json
import random
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.exits import ExitCode
from sfumato.cli.graph import DEFAULT, GRAPH, ShapeChoice
from sfumato.cli.graph_data import NAMED, parse_nodes

PAGE = Path(__file__).parents[2] / "docs" / "graphs.md"


def drawn_pairs():
    """Return a hundred pairs of forty people in eight circles, some twice and some loops."""
    draw = random.Random(3)
    circles = [draw.randrange(8) for _ in range(120)]
    return [(5 * c + draw.randrange(5), 5 * c + draw.randrange(5)) for c in circles]


@pytest.fixture
def friends(tmp_path):
    """An edge list on the nodes 0 to 39."""
    lines = ["# who knows whom", *(f"{left}\t{right}" for left, right in drawn_pairs())]
    path = tmp_path / "friends.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_shapes_and_words_are_those_of_the_library():
    from sfumato.data import graph
    from sfumato.graph.shapes import SHAPES

    assert tuple(ShapeChoice) == SHAPES
    assert graph.NAMED == NAMED
    assert DEFAULT in GRAPH.methods.values()


def test_nodes_are_a_number_a_file_or_named(tmp_path):
    people = tmp_path / "people.txt"
    people.write_text("ann\n\nbob \n", encoding="utf-8")
    assert parse_nodes(str(people)) == ["ann", "bob"]
    people.write_text("12\n7\n", encoding="utf-8")
    assert parse_nodes(str(people)) == ["12", "7"]
    people.write_text("12\n007\n", encoding="utf-8")
    assert parse_nodes(str(people)) == ["12", "007"]
    assert parse_nodes("40") == 40 and parse_nodes("named") == "named"


def test_a_plan_and_a_rehearsal_need_no_edges(run):
    words = ("--nodes", "40", "--epsilon", "1", "--json")
    plan = run("graph", "plan", *words).document
    assert plan["plan"]["method"] == DEFAULT and plan["guarantee"]["unit"] == "edge"
    rehearsal = run("graph", "rehearse", *words, "--rows", "50").document
    assert "rehearsal" in rehearsal["guarantee"]["caveat"]
    told = run("graph", "plan", "--nodes", "40", "--epsilon", "1")
    assert told.code == 0 and "the number of triangles" in told.out


def test_a_method_is_named_as_in_python_or_short_and_set_by_name(run):
    words = ("graph", "plan", "--nodes", "40", "--epsilon", "1", "--shape", "star")
    for name in ("SubgraphCount", "subgraphcount"):
        told = run(*words, "--k", "3", "--method", name)
        assert told.code == 0 and "3-stars" in told.out
    assert run(*words).code == ExitCode.USAGE
    assert run(*words[:6], "--shape", "square").code == ExitCode.USAGE


def test_nodes_that_the_edges_name_are_read_from_the_file_and_said_to_be_public(run, friends):
    words = ("graph", "plan", "--nodes", "named", "--epsilon", "1")
    told = run(*words, friends)
    assert told.code == 0 and "is not protected, and the guarantee states this" in told.err
    assert "except for which nodes there are, and which have an edge" in told.out
    missing = run(*words)
    assert missing.code == ExitCode.USAGE and "takes the nodes from FILE" in missing.err


def test_the_header_of_an_edge_list_is_declared(run, friends):
    headed = friends.with_name("friends.csv")
    pairs = friends.read_text(encoding="utf-8").replace(" ", ",").replace("\t", ",")
    headed.write_text("from,to\n" + pairs, encoding="utf-8")
    words = ("graph", "plan", headed, "--nodes", "named", "--epsilon", "1")
    asked = run(*words)
    assert asked.code == ExitCode.USAGE and "--skip-lines 1" in asked.err
    plans = [run(*words, "--skip-lines", number, "--json").document for number in (0, 1)]
    many = [int(plan["guarantee"]["public"][0].split()[1]) for plan in plans]
    assert many[0] == many[1] + 2
    release = ("graph", "degrees", headed, "--nodes", "40", "--epsilon", "1", "--out")
    refused = run(*release, "a")
    assert refused.code == ExitCode.DATA and "row 1" in refused.err
    assert run(*release, "b", "--skip-lines", "1").code == 0


def test_a_count_is_booked_saved_reported_and_verified(run, friends):
    book = friends.parent / "friends.ledger"
    assert run("ledger", "create", book, "--allow-epsilon", "2", "--unit", "edge").code == 0
    words = ("graph", "count", friends, "--nodes", "40", "--epsilon", "1", "--ledger", book)
    document = run(*words, "--out", "o", "--json").document
    assert document["kind"] == "number" and document["what"] == "triangles"
    assert document["left"] == {"measure": "pure", "epsilon": "1"}
    folder = friends.parent / "o"
    saved = json.loads((folder / "number.json").read_text(encoding="utf-8"))
    assert saved["value"] == str(document["value"]) and document["margin"] is None
    assert all(f"`{path.name}`" in PAGE.read_text(encoding="utf-8") for path in folder.iterdir())
    assert run("verify", "o", "--ledger", book).code == 0


def test_a_ledger_accepts_a_corrected_graph_that_names_its_nodes(run, friends):
    book = friends.parent / "friends.ledger"
    assert run("ledger", "create", book, "--allow-epsilon", "3", "--unit", "edge").code == 0
    words = ("graph", "degrees", friends, "--nodes", "40", "--epsilon", "1", "--ledger", book)
    assert run(*words, "--out", "o", "--no-report").code == 0
    with friends.open("a") as file:
        file.write("0 39\n")
    assert run(*words, "--out", "p", "--no-report").code == ExitCode.LEDGER
    rebind = ("ledger", "rebind", book, friends, "--reason", "a late friend")
    told = run(*rebind)
    assert told.code == ExitCode.USAGE and "--nodes" in told.err
    assert run(*rebind, "--nodes", "40").code == 0
    assert run(*words, "--out", "p", "--no-report").code == 0


def test_a_count_beyond_the_ledger_is_refused_and_leaves_no_folder(run, friends):
    book = friends.parent / "friends.ledger"
    assert run("ledger", "create", book, "--allow-epsilon", "1", "--unit", "edge").code == 0
    words = ("graph", "count", friends, "--nodes", "40", "--ledger", book, "--out", "o")
    assert run(*words, "--epsilon", "2").code == ExitCode.BUDGET
    assert not (friends.parent / "o").exists()


def test_what_is_released_is_the_truth_at_a_huge_epsilon(run, friends):
    graph = sf.read_graph(friends, 40)
    words = ("graph", "count", friends, "--nodes", "40", "--epsilon", "200", "--no-report")
    document = run(*words, "--out", "o", "--json").document
    # Beside the truth a ladder leaves less than 76 times e^-100.
    assert document["value"] == graph.counts.triangles()


@pytest.mark.parametrize(
    ("shape", "k", "what"),
    [("star", 3, "3-stars"), ("clique", 4, "4-cliques"), ("k-triangle", 2, "2-triangles")],
)
def test_other_shapes_have_a_size(run, friends, shape, k, what):
    words = ("graph", "count", friends, "--nodes", "40", "--epsilon", "1", "--no-report")
    document = run(*words, "--shape", shape, "-k", k, "--out", "o", "--json").document
    assert document["what"] == what and document["parameters"]["k"] == k
    none = run(*words, "--shape", shape, "--out", "p")
    assert none.code == ExitCode.USAGE and "needs its size" in none.err


def test_plain_noise_tells_its_margin(run, friends):
    words = ("graph", "count", friends, "--nodes", "40", "--epsilon", "1", "--no-report")
    document = run(*words, "--mechanism", "laplace", "--out", "o", "--json").document
    assert document["margin"] == pytest.approx(38 * 2.9957, abs=1)


def test_an_unknown_node_is_named_by_its_line_and_never_shown(run, friends):
    friends.write_text("# head\n0 1\n0 987654\n", encoding="utf-8")
    told = run("graph", "count", friends, "--nodes", "40", "--epsilon", "1", "--out", "o")
    assert told.code == ExitCode.DATA
    assert "row 3" in told.err and "987654" not in told.err
    assert not (friends.parent / "o").exists()


@pytest.mark.parametrize("nodes", ["nowhere.txt", "-1", "many"])
def test_nodes_that_are_not_declared_are_refused(run, friends, nodes):
    words = ("graph", "count", friends, "--epsilon", "1", "--out", "o", "--nodes", nodes)
    told = run(*words, "--json")
    assert told.code == ExitCode.USAGE and told.document["error"]["code"] == ExitCode.USAGE


def test_a_node_that_is_listed_twice_is_an_error_of_the_data(run, friends):
    (friends.parent / "people.txt").write_text("a\nb\na\n", encoding="utf-8")
    words = ("graph", "plan", "--nodes", "people.txt", "--epsilon", "1")
    told = run(*words)
    assert told.code == ExitCode.DATA and "line 3" in told.err and "line 1" in told.err


def test_names_columns_and_packed_files_are_read(run, tmp_path):
    (tmp_path / "people.txt").write_text("ann\nbob\neve\n", encoding="utf-8")
    (tmp_path / "calls.csv").write_text(
        "day,caller,called\n1,ann,bob\n2,bob,eve\n3,eve,ann\n", encoding="utf-8"
    )
    words = ("--nodes", "people.txt", "--epsilon", "300", "--no-report", "--json")
    calls = ("graph", "count", "calls.csv", "--columns", "caller,called")
    assert run(*calls, *words, "--out", "o").document["value"] == 1
    assert sf.load("o").provenance.public.labels == ("ann", "bob", "eve")
    wrong = run("graph", "count", "calls.csv", "--columns", "caller", *words, "--out", "p")
    assert wrong.code == ExitCode.USAGE and "two ends" in wrong.document["error"]["message"]
    with gzip.open(tmp_path / "calls.txt.gz", "wt") as file:
        file.write("% a head\nann bob\nbob eve\n")
    packed = ("graph", "count", "calls.txt.gz", "--comment", "%", "--shape", "star", "-k", "2")
    assert run(*packed, *words, "--out", "q").code == 0


def test_degrees_are_told_by_how_many_nodes_have_them(run, friends):
    words = ("graph", "degrees", friends, "--nodes", "40", "--epsilon", "200", "--out", "o")
    document = run(*words, "--report", "--json").document
    truth = sf.read_graph(friends, 40).counts.degrees()
    # The chance that any of 40 degrees is off is below 80 e^-100.
    assert document["histogram"] == [int((truth == d).sum()) for d in range(truth.max() + 1)]
    assert document["nodes"] == 40 and (friends.parent / "o" / "report.html").is_file()


def test_a_summary_is_released_by_its_method(run, friends):
    words = ("graph", "release", friends, "--nodes", "40", "--epsilon", "400", "--out", "o")
    document = run(*words, "--method", "GraphSummary", "--no-report", "--json").document
    counts = sf.read_graph(friends, 40).counts
    # A twentieth of epsilon counts the edges: off with a chance below 2 e^-20.
    assert (document["edges"], document["triangles"]) == (counts.edges, counts.triangles())


def test_a_formula_is_released_with_its_error_where_that_is_public(run, friends):
    words = ("graph", "stats", friends, "--nodes", "40", "--epsilon", "1", "--no-report")
    document = run(*words, "--expression", "mean_degree", "--out", "o", "--json").document
    assert document["standard_error"] == pytest.approx(2 * 1.357 / 40, rel=0.01)
    told = run(*words, "--expression", "3 * triangles / wedges", "--out", "p")
    assert told.code == 0 and "so it is private" in told.out
    wrong = run(*words, "--expression", "3 * triangle / wedges", "--out", "q")
    assert wrong.code == ExitCode.USAGE and "unknown name 'triangle'" in wrong.err


def test_a_formula_may_name_a_node_and_public_groups(run, friends):
    words = ("graph", "stats", friends, "--nodes", "40", "--epsilon", "1", "--no-report", "--json")
    at = run(*words, "--expression", "degree(v)", "--node", "7", "--out", "o").document
    assert at["parameters"]["node"] == 7
    # A group may have blanks in its name where a comma tells the two apart.
    lines = [f"{node}, {('ward 1', 'b')[node % 2]}" for node in range(40)]
    groups = friends.parent / "groups.csv"
    groups.write_text("\n".join(lines), encoding="utf-8")
    named = (*words, "--expression", "modularity", "--groups", groups)
    assert run(*named, "--out", "p").document["parameters"]["groups"] == ["ward 1", "b"] * 20
    for wrong, told in [
        (lines[:-1], "1 nodes have no group"),
        ([*lines, "3,a"], "line 41: the node '3' is listed twice"),
        ([*lines, "40,a"], "line 41: the node '40' is not among the declared nodes"),
        (["0,a,b"], "line 1: each line must hold a node and its group"),
    ]:
        groups.write_text("\n".join(wrong), encoding="utf-8")
        failed = run(*named, "--out", "q")
        assert failed.code == ExitCode.DATA and told in failed.document["error"]["message"]


def test_a_vector_is_in_a_file_and_may_need_a_delta(run, friends):
    words = ("graph", "stats", friends, "--nodes", "40", "--epsilon", "1", "--no-report", "--json")
    vector = (*words, "--expression", "node_triangles")
    assert run(*vector, "--out", "o").code == ExitCode.USAGE
    document = run(*vector, "--delta", "1e-6", "--out", "o").document
    assert document["entries"] == 40 and document["guarantee"]["loss"]["delta"] == "1/1000000"
    assert (friends.parent / "o" / "entries.csv").is_file()


def test_a_formula_is_set_by_name_in_plans(run):
    words = ("graph", "plan", "--nodes", "40", "--epsilon", "1", "--method", "graphstatistic")
    told = run(*words, "--expression", "transitivity")
    assert told.code == 0 and "triangles" in told.out and "wedges" in told.out
    none = run(*words)
    assert none.code == ExitCode.USAGE and "needs --expression" in none.err
    at = run(*words, "--expression", "degree(v)", "--node", "7")
    assert at.code == 0 and "degree(7)" in at.out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("count", "--shape", "star", "-k", "3"), ["3-stars"]),
        (("degrees",), ["degrees, sorted"]),
        (("stats", "--expression", "transitivity"), ["transitivity"]),
        (("stats", "--expression", "degrees / mean_degree"), ["degrees / mean_degree"]),
        (("release", "--method", "graphsummary"), ["edges", "triangles", "degrees, sorted"]),
    ],
)
def test_an_evaluation_is_marked_as_not_private(run, friends, words, what):
    name, *options = words
    shared = ("--nodes", "40", "--epsilon", "500", "--out", "o", "--no-report")
    assert run("graph", name, friends, *shared, *options).code == 0
    told = run("graph", "evaluate", friends, "o", "--json")
    assert told.code == 0 and "Not private" in told.err and told.document["private"] is False
    items = told.document["comparisons"]
    assert [item["what"] for item in items] == what
    # At this epsilon noise is 0 but for a chance below 1e-10.
    assert all(item["largest_error"] < 1e-6 for item in items)
    assert told.document["loops"] == sum(left == right for left, right in drawn_pairs())
    shown = run("graph", "evaluate", friends, "o")
    assert "Not private" in shown.out and "loops" in shown.out


def test_only_releases_of_graphs_are_compared_with_graphs(run, friends, patients):
    words = ("table", "release", patients, "--epsilon", "1", "--method", "histogram")
    assert run(*words, "--columns", "sex", "--out", "o", "--no-report").code == 0
    told = run("graph", "evaluate", friends, "o")
    assert told.code == ExitCode.USAGE and "only releases of numbers about a graph" in told.err


def test_the_law_of_a_count_is_drawn_for_the_custodian_alone(run, friends):
    words = ("graph", "count", friends, "--nodes", "40", "--epsilon", "1", "--out", "o")
    assert run(*words, "--no-report").code == 0
    told = run("graph", "evaluate", friends, "o", "--picture", "law.svg")
    assert told.code == 0 and "(not private): law.svg" in told.out
    assert "NOT PRIVATE" in (friends.parent / "law.svg").read_text(encoding="utf-8")
    wrong = run("graph", "evaluate", friends, "o", "--picture", "law.bmp")
    assert wrong.code == ExitCode.USAGE and "--picture must end in" in wrong.err
