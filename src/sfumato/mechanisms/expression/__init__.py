"""Statistics written as formulas over unit statistics that are measured once each."""
