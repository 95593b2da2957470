"""The harness of every experiment: running, storing and resuming trials, and reporting results."""
