"""How long turbo budgets last: the duration cannot be read, so it has to be waited for.

Most processors average their long-term power limit over 28 s. A budget lasts as long if the turbo draws 1.6 times this
limit, and half as long again at 1.3 times the limit; drawing less hardly lowers the clock.
"""

LEAST_S = 42  # of a constant clock before it counts as stable
LEAST_WORK_S = LEAST_S + 3  # the first and the last second are not whole, and CPUs may not begin at the same time
