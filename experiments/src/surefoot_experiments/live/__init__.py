"""Real systems tuned on this machine beside a busy neighbour, with and without surefoot's aids."""
