"""How useful a release is, measured against the private data: for the custodian's eyes only."""
