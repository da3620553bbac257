"""Prints what SciPy says of random paired tables: `python3 paired.py > paired.json`, with SciPy 1.17.1.

The p-values are those of `scipy.stats.binomtest`; the limits invert Tango's score statistic, whose constrained maximum of
the likelihood is searched here and not taken from a formula.
"""

import json
import random

import numpy
import scipy
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binomtest, norm


def p_values(count):
    draw = random.Random(20)
    for _ in range(count):
        largest = draw.choice([3, 10, 40, 200, 2000])
        gained, lost = draw.randint(0, largest), draw.randint(0, largest)
        p = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
        yield [gained, lost, p]


def score(difference, gained, lost, pairs):
    def unlikely(q):
        p = q + difference
        rest = 1 - p - q
        counts = [(gained, p), (lost, q), (pairs - gained - lost, rest)]
        return -sum(n * numpy.log(max(share, 1e-300)) for n, share in counts if n)

    low, high = max(0, -difference), (1 - difference) / 2
    q = minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    variance = pairs * (2 * q + difference * (1 - difference))
    return (gained - lost - pairs * difference) / numpy.sqrt(variance)


def limits(count):
    draw = random.Random(21)
    z = norm.ppf(0.975)
    for _ in range(count):
        pairs = draw.randint(5, 300)
        gained = draw.randint(1, pairs // 3 + 1)
        lost = draw.randint(1, pairs // 3 + 1)
        middle = (gained - lost) / pairs
        low = brentq(lambda d: score(d, gained, lost, pairs) - z, -0.999, middle - 1e-9)
        high = brentq(lambda d: score(d, gained, lost, pairs) + z, middle + 1e-9, 0.999)
        yield [gained, lost, pairs, low, high]


values = {"scipy": scipy.__version__, "pValues": list(p_values(1000)), "limits": list(limits(100))}
print(json.dumps(values, separators=(",", ":")).replace("],[", "],\n["))
