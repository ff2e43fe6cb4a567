"""Compares windows of time with and without something, in one process under load: pairs of neighbours, and how sure the ratio is."""
import math
import statistics

# Quantiles 0.975 of Student's t for so many degrees of freedom; from 30 on the normal distribution is near enough.
T = [0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
     2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045]


def pairs(number, measure):
    """Calls `measure(is_with)` for each window of so many pairs; which of the two is first changes from pair to pair. Gives [(without, with)]."""
    found = []
    for pair in range(number):
        order = [False, True] if pair % 2 == 0 else [True, False]
        windows = {is_with: measure(is_with) for is_with in order}
        found.append((windows[False], windows[True]))
    return found


def ratio(found, figure):
    """The ratio with to without of a figure (a function of a window): geometric mean of the pairs, and bounds that hold it in 95 of 100 cases."""
    logs = [math.log(figure(with_it) / figure(without)) for without, with_it in found if figure(without) > 0 and figure(with_it) > 0]
    if len(logs) < 2:
        return math.nan, math.nan, math.nan
    mean = statistics.fmean(logs)
    freedom = len(logs) - 1
    margin = (T[freedom] if freedom < len(T) else 1.96) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - margin), math.exp(mean + margin)


def text(found, figure):
    """The ratio as text."""
    mean, low, high = ratio(found, figure)
    return f"{mean:.3f} (95 %: {low:.3f} to {high:.3f})"
