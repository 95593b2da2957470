"""The papers' formulas, written out to be read: dense, slow, numpy, and nothing of surefoot."""
