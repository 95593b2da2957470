"""The yardstick of each change: short tasks in thirteen families, paired with recorded results."""
