"""Ridge regression in features: observations, factor, posterior."""
