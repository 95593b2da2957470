"""What every floor may use: checks of input, linear algebra, threads, guess-and-double."""
