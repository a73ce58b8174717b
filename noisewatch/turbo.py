"""The duration of turbo budgets, which cannot be read and has to be waited for.

Most processors average their long-term power limit over 28 s. A budget lasts as long if the turbo draws 1.6 times that
limit, and half as long again at 1.3 times the limit; less hardly lowers the clock.
"""

LEAST_S = 42  # of a constant clock before it counts as level
LEAST_WORK_S = LEAST_S + 3  # the first and the last second are not whole, and CPUs may not begin at the same time
