"""What every comparison with private data must say of itself."""

WARNING = (
    "Not private: these figures were computed from the private data without noise. They are for "
    "the custodian's eyes; do not publish them with the release."
)
