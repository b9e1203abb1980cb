"""Where everything public lives, so that importing sfumato stays instant.

Names are imported when they are first used. The same list tells a saved release which class its
method's name stands for.
"""

from __future__ import annotations

from sfumato.privacy.registry import register_place

#: Public name → where it lives.
PUBLIC_NAMES = {
    "AIM": "sfumato.tabular.aim:AIM",
    "AdaptiveGrid": "sfumato.spatial.adaptive_grid:AdaptiveGrid",
    "ApproxDP": "sfumato.privacy.loss:ApproxDP",
    "BudgetExceeded": "sfumato.privacy.ledger:BudgetExceeded",
    "ClusteredGraph": "sfumato.graph.clustered:ClusteredGraph",
    "Contingency": "sfumato.tabular.contingency:Contingency",
    "DAWA": "sfumato.spatial.dawa:DAWA",
    "DKGraph": "sfumato.graph.dk_graph:DKGraph",
    "DataError": "sfumato.data.errors:DataError",
    "DegreeSequence": "sfumato.graph.degree_sequence:DegreeSequence",
    "Fourier": "sfumato.tabular.fourier:Fourier",
    "FunctionalRegression": "sfumato.regression.functional:FunctionalRegression",
    "Graph": "sfumato.data.graph:Graph",
    "GraphStatistic": "sfumato.graph.statistic:GraphStatistic",
    "GraphSummary": "sfumato.graph.summary:GraphSummary",
    "Guarantee": "sfumato.privacy.guarantee:Guarantee",
    "HierarchicalGrid": "sfumato.spatial.hierarchical_grid:HierarchicalGrid",
    "Histogram": "sfumato.tabular.histogram:Histogram",
    "Independent": "sfumato.tabular.independent:Independent",
    "KroneckerGraph": "sfumato.graph.kronecker_graph:KroneckerGraph",
    "Ledger": "sfumato.privacy.ledger:Ledger",
    "MST": "sfumato.tabular.mst:MST",
    "MWEM": "sfumato.tabular.mwem:MWEM",
    "Majority": "sfumato.tabular.majority:Majority",
    "Marginals": "sfumato.tabular.marginals:Marginals",
    "Method": "sfumato.privacy.method:Method",
    "NGram": "sfumato.sequence.ngram:NGram",
    "Plan": "sfumato.privacy.plan:Plan",
    "Points": "sfumato.data.points:Points",
    "PrivBayes": "sfumato.tabular.privbayes:PrivBayes",
    "PrivGene": "sfumato.tabular.privgene:PrivGene",
    "PrivTree": "sfumato.spatial.privtree:PrivTree",
    "PrivateERM": "sfumato.tabular.private_erm:PrivateERM",
    "Privelet": "sfumato.spatial.privelet_grid:Privelet",
    "PureDP": "sfumato.privacy.loss:PureDP",
    "Questions": "sfumato.tabular.questions:Questions",
    "Release": "sfumato.privacy.release:Release",
    "Schema": "sfumato.data.schema:Schema",
    "Sequences": "sfumato.data.sequences:Sequences",
    "SimpleTree": "sfumato.spatial.simple_tree:SimpleTree",
    "Spectrum": "sfumato.graph.spectrum:Spectrum",
    "SubgraphCount": "sfumato.graph.subgraph_count:SubgraphCount",
    "SuffixTree": "sfumato.sequence.suffix_tree:SuffixTree",
    "Synthesizer": "sfumato.tabular.synthesizer:Synthesizer",
    "Table": "sfumato.data.table:Table",
    "TableStatistic": "sfumato.tabular.statistic:TableStatistic",
    "TopStrings": "sfumato.sequence.top_strings:TopStrings",
    "UniformGrid": "sfumato.spatial.uniform_grid:UniformGrid",
    "ZCDP": "sfumato.privacy.loss:ZCDP",
    "audit": "sfumato.audit:audit",
    "load": "sfumato.privacy.saved:load",
    "read_graph": "sfumato.data.graph:read_graph",
    "read_points": "sfumato.data.points:read_points",
    "read_sequences": "sfumato.data.sequences:read_sequences",
    "read_table": "sfumato.data.table:read_table",
    "rehearse": "sfumato.rehearsal:rehearse",
    "save_report": "sfumato.report.page:save_report",
    "verify": "sfumato.privacy.saved:verify",
}

#: Method name in certificates and ledgers → where it lives.
METHODS = {
    "graph.ClusteredGraph": "sfumato.graph.clustered:ClusteredGraph",
    "graph.DKGraph": "sfumato.graph.dk_graph:DKGraph",
    "graph.DegreeSequence": "sfumato.graph.degree_sequence:DegreeSequence",
    "graph.GraphStatistic": "sfumato.graph.statistic:GraphStatistic",
    "graph.GraphSummary": "sfumato.graph.summary:GraphSummary",
    "graph.KroneckerGraph": "sfumato.graph.kronecker_graph:KroneckerGraph",
    "graph.Spectrum": "sfumato.graph.spectrum:Spectrum",
    "graph.SubgraphCount": "sfumato.graph.subgraph_count:SubgraphCount",
    "points.AdaptiveGrid": "sfumato.spatial.adaptive_grid:AdaptiveGrid",
    "points.DAWA": "sfumato.spatial.dawa:DAWA",
    "points.HierarchicalGrid": "sfumato.spatial.hierarchical_grid:HierarchicalGrid",
    "points.PrivTree": "sfumato.spatial.privtree:PrivTree",
    "points.Privelet": "sfumato.spatial.privelet_grid:Privelet",
    "points.SimpleTree": "sfumato.spatial.simple_tree:SimpleTree",
    "points.UniformGrid": "sfumato.spatial.uniform_grid:UniformGrid",
    "report.RandomizedResponse": "sfumato.local.randomized:RandomizedResponse",
    "sequences.NGram": "sfumato.sequence.ngram:NGram",
    "sequences.SuffixTree": "sfumato.sequence.suffix_tree:SuffixTree",
    "sequences.TopStrings": "sfumato.sequence.top_strings:TopStrings",
    "table.AIM": "sfumato.tabular.aim:AIM",
    "table.Contingency": "sfumato.tabular.contingency:Contingency",
    "table.Fourier": "sfumato.tabular.fourier:Fourier",
    "table.FunctionalRegression": "sfumato.regression.functional:FunctionalRegression",
    "table.Histogram": "sfumato.tabular.histogram:Histogram",
    "table.Independent": "sfumato.tabular.independent:Independent",
    "table.MST": "sfumato.tabular.mst:MST",
    "table.MWEM": "sfumato.tabular.mwem:MWEM",
    "table.Majority": "sfumato.tabular.majority:Majority",
    "table.Marginals": "sfumato.tabular.marginals:Marginals",
    "table.PrivBayes": "sfumato.tabular.privbayes:PrivBayes",
    "table.PrivGene": "sfumato.tabular.privgene:PrivGene",
    "table.PrivateERM": "sfumato.tabular.private_erm:PrivateERM",
    "table.Questions": "sfumato.tabular.questions:Questions",
    "table.Synthesizer": "sfumato.tabular.synthesizer:Synthesizer",
    "table.TableStatistic": "sfumato.tabular.statistic:TableStatistic",
}

#: The public part of each kind of data → where it lives.
PUBLIC_PARTS = {
    "graph": "sfumato.data.graph_public:GraphPublic",
    "points": "sfumato.data.points_public:PointsPublic",
    "report": "sfumato.local.own:AnswerPublic",
    "sequences": "sfumato.data.sequences_public:SequencesPublic",
    "table": "sfumato.data.table:TablePublic",
}

for _name, _place in METHODS.items():
    register_place(_name, _place)
for _kind, _place in PUBLIC_PARTS.items():
    register_place(f"public.{_kind}", _place)
