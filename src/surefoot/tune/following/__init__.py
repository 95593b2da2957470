"""Whatever follows a run trial by trial: a log, a command, a page."""
