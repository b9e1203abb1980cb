"""The museum of refuted claims: what papers printed, where the proof fails, a module a paper.

A method reaches what is here by `variant="published"` alone, which needs `accept_unproven=True`.
The guarantee then has the basis `published`, and no ledger books it. Methods name these modules
through `sfumato.privacy.registry.find_published` and never import them, so that nothing proved can
rest on them.

- `degree_correlation`: DP-1K and DP-2K (Wang and Wu, 2013)
- `spectral_analysis`: LNPP and SBMF (Wang, Wu and Wu, 2013)
- `randomized_response`: a graph collected edge by edge (Wang, Wu and Hu, 2016)
- `privbayes`: the number of rows as it is (Zhang and others, 2014)
- `robust_regression`: thresholds and means of the data (Nieminen, 2017)
- `queries`: what all of them ask of private data, apart from their programs

docs/refuted.md lists every printed claim that does not hold, with its counterexample;
`python benchmarks/refuted.py` shows each of them. Where a published variant differs from the proved
one by a constant only (the ladder of k-triangles), the constant stays with its method.
"""
