"""The yardstick of each change: short tasks in eight families, paired with recorded results."""
