"""Cases, doubles and runs that several test modules share."""
