"""The trials of a study, what is measured next, and what the model says of them."""
