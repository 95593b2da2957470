"""Internal foundations: input checks, linear algebra, thread control, doubling schedules."""
