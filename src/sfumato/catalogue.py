"""Where everything public lives, so that importing sfumato stays instant.

Names are imported when they are first used. The same list tells a saved release which class its
method's name stands for.
"""

from __future__ import annotations

from sfumato.privacy.registry import register_place

#: Public name → where it lives.
PUBLIC_NAMES = {
    "AIM": "sfumato.tabular.aim:AIM",
    "ApproxDP": "sfumato.privacy.loss:ApproxDP",
    "BudgetExceeded": "sfumato.privacy.ledger:BudgetExceeded",
    "Contingency": "sfumato.tabular.contingency:Contingency",
    "DataError": "sfumato.data.errors:DataError",
    "Fourier": "sfumato.tabular.fourier:Fourier",
    "Guarantee": "sfumato.privacy.guarantee:Guarantee",
    "Histogram": "sfumato.tabular.histogram:Histogram",
    "Independent": "sfumato.tabular.independent:Independent",
    "Ledger": "sfumato.privacy.ledger:Ledger",
    "MST": "sfumato.tabular.mst:MST",
    "MWEM": "sfumato.tabular.mwem:MWEM",
    "Majority": "sfumato.tabular.majority:Majority",
    "Marginals": "sfumato.tabular.marginals:Marginals",
    "Method": "sfumato.privacy.method:Method",
    "Plan": "sfumato.privacy.plan:Plan",
    "PrivBayes": "sfumato.tabular.privbayes:PrivBayes",
    "PrivGene": "sfumato.tabular.privgene:PrivGene",
    "PrivateERM": "sfumato.tabular.private_erm:PrivateERM",
    "PureDP": "sfumato.privacy.loss:PureDP",
    "Questions": "sfumato.tabular.questions:Questions",
    "Release": "sfumato.privacy.release:Release",
    "Schema": "sfumato.data.schema:Schema",
    "Synthesizer": "sfumato.tabular.synthesizer:Synthesizer",
    "Table": "sfumato.data.table:Table",
    "ZCDP": "sfumato.privacy.loss:ZCDP",
    "audit": "sfumato.audit:audit",
    "load": "sfumato.privacy.saved:load",
    "read_table": "sfumato.data.table:read_table",
    "rehearse": "sfumato.rehearsal:rehearse",
    "save_report": "sfumato.report.page:save_report",
    "verify": "sfumato.privacy.saved:verify",
}

#: Method name in certificates and ledgers → where it lives.
METHODS = {
    "report.RandomizedResponse": "sfumato.local.randomized:RandomizedResponse",
    "table.AIM": "sfumato.tabular.aim:AIM",
    "table.Contingency": "sfumato.tabular.contingency:Contingency",
    "table.Fourier": "sfumato.tabular.fourier:Fourier",
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
}

#: The public part of each kind of data → where it lives.
PUBLIC_PARTS = {
    "report": "sfumato.local.own:AnswerPublic",
    "table": "sfumato.data.table:TablePublic",
}

for _name, _place in METHODS.items():
    register_place(_name, _place)
for _kind, _place in PUBLIC_PARTS.items():
    register_place(f"public.{_kind}", _place)
