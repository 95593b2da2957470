"""Names of the effects of conditions, for programs that do not load torch."""

EFFECTS = ("worker", "drift")
"""Effects of conditions on rewards that may be modelled."""

LEVEL = "level"
"""Effect of a level of fidelity, modelled where there is one."""
