"""Attacks on releases: what somebody could guess about a person from what was published.

NOT PRIVATE. An attack is tried by the custodian on the private data themselves. What it finds is
for the custodian's eyes, and is never part of a release, a certificate or its report.
"""

from __future__ import annotations

from sfumato.attacks.frequency_files import read_frequencies
from sfumato.attacks.group_frequencies import GroupFrequencies, perturb_network
from sfumato.attacks.identity import IdentityInference, IdentityOutcome
from sfumato.attacks.membership import MembershipInference, MembershipOutcome
from sfumato.attacks.model_inversion import ModelInversion
from sfumato.attacks.outcome import Inversion, InversionOutcome
from sfumato.attacks.traits import TraitInference, TraitOutcome

__all__ = [
    "GroupFrequencies",
    "IdentityInference",
    "IdentityOutcome",
    "Inversion",
    "InversionOutcome",
    "MembershipInference",
    "MembershipOutcome",
    "ModelInversion",
    "TraitInference",
    "TraitOutcome",
    "perturb_network",
    "read_frequencies",
]
