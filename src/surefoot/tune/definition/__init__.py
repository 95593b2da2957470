"""What a study file says."""
