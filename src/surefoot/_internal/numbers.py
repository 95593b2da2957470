"""Numbers that several modules share, each of which would else be chosen anew."""

MAD_TO_SD = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
OF_95 = 1.96  # standard errors in half an interval of 95 % under a normal distribution
LAST_DIGITS = 1e-12  # relative: by which values that are equal may differ in float64
ROUNDING = 1e-9  # relative: by which equal values differ after long sums, storage or printing
TINY = 1e-300  # all but zero, with a finite logarithm and reciprocal
NUMBERS_AT_ONCE = 2**20  # in one array, where a larger one is worked off in blocks: 8 MiB
ROWS_AT_ONCE = 1024  # of such a block where rows are long
SAMPLES = 1024  # values that stand for a distribution
SHOWING = 8  # measurements, from which on the noise of a run shows
TESTED = 12  # measurements, from which on a trend or an effect is looked for
CONFIDENT = 0.95  # probability of what counts as sure, where no other is asked for
ALARM = 0.005  # probability of a warning, of each kind, where nothing is wrong
FEWEST = 3  # measurements that tell a pattern from chance
OUTLYING = 3.5  # robust standard deviations from the median (Iglewicz and Hoaglin 1993)
FEW_ENOUGH = 150  # rewards, up to which what is cubic in them many times over is found each round
NEW_SHARE = 0.01  # of many, that may be new before what follows from all is found again


def rows_at_once(width: int) -> int:
    """Rows of so many numbers that are worked off together."""
    return max(1, NUMBERS_AT_ONCE // max(width, 1))
