"""Long tests of what surefoot promises: random events, hostile input, killed processes."""
