"""The yardstick of each change: short tasks in eleven families, paired with recorded results."""
