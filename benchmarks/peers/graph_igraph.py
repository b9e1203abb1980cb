"""Processor times of igraph on an edge list, as a line of JSON; run by benchmarks/graph.py.

python benchmarks/peers/graph_igraph.py EDGES.txt NODES REPEATS
"""

import json
import sys
import time

import igraph


def fastest(run, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main():
    nodes, repeats = int(sys.argv[2]), int(sys.argv[3])
    with open(sys.argv[1], encoding="ascii") as file:
        edges = [tuple(map(int, line.split())) for line in file]
    graph = igraph.Graph(n=nodes, edges=edges)
    found = {
        "build": fastest(lambda: igraph.Graph(n=nodes, edges=edges), repeats),
        "list_triangles": fastest(graph.list_triangles, repeats),
        "transitivity_undirected": fastest(graph.transitivity_undirected, repeats),
        "cliques(4, 4)": fastest(lambda: len(graph.cliques(4, 4)), 1),
        "version": igraph.__version__,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
