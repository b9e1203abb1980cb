"""Settings for the property tests of this layer."""

from hypothesis import settings

# A first example may compile or import; how long it takes says nothing about the code.
settings.register_profile("mechanisms", deadline=None)
settings.load_profile("mechanisms")
