"""Names of the attributes that surefoot gives to trials."""

ENVIRONMENT = "surefoot:environment"
"""User attribute of a trial: its environment, as a dictionary of values by variable name."""
INTERRUPTED = "surefoot:interrupted"
"""User attribute of a failed trial whose run was interrupted, so that the failure is ignored."""
BLAMELESS = "surefoot:blameless"
"""User attribute of a failed trial that completed, but whose configuration is not the cause."""
