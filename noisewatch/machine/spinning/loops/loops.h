/* The measuring loops, without Python: nothing in them allocates, prints, locks or faults. Times are ns. */
#ifndef NOISEWATCH_LOOPS_H
#define NOISEWATCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* A gap as four words in shared memory: start (CLOCK_MONOTONIC), length, context switches, time spent waiting. */
enum { GAP_START, GAP_LENGTH, GAP_SWITCHES, GAP_WAITED, GAP_WORDS };

/* A spinner's measurements so far, in shared memory; the parent reads them while the loop runs. */
enum { SPIN_COUNT, SPIN_LOST_COUNT, SPIN_LOST_NS, SPIN_LOST_MAX, SPIN_ITERATIONS, SPIN_NS, SPIN_WORDS };

/* A fixed piece of work as two words: start, length. */
enum { WORK_START, WORK_LENGTH, WORK_WORDS };

struct spin {
    int64_t *gaps;          /* room for `capacity` gaps */
    int64_t capacity;
    int64_t *totals;        /* SPIN_WORDS words */
    int64_t until;          /* when to end */
    int64_t threshold;      /* the shortest step of the clock that is a gap */
    int schedstat;          /* /proc/thread-self/schedstat, open; -1: the time spent waiting is unknown */
    int64_t delay;          /* to test the loop: insert a delay of this length ... */
    int64_t delay_every;    /* ... at this interval; 0: never */
    int64_t delay_count;    /* number of inserted delays */
};

/* Returns the time of `count` consecutive readings of the clock: the lower bound for a loop that reads it. */
int64_t time_clock_readings(int64_t count);

/* Reads the clock until `until`, and notes each step of at least `threshold`. */
void spin(struct spin *spin);

/* Does `rounds` rounds of dense work, as many instructions per cycle as the core can execute, until `until`,
 * at most `capacity` times; returns how often. */
int64_t dense(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t rounds);

/* The same with chains of `length` multiplications, each of which waits for the previous one. */
int64_t chain(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t length);

/* Links through memory, one per cache line: `lines` of them, a power of two. */
enum { LINK_WORDS = 16 };
struct ring {
    const uint32_t *links;
    uint32_t lines;
    uint32_t at;            /* where the last chase ended and the next one continues */
};

/* Follows `steps` links repeatedly until `until`, at most `capacity` times; returns how often. */
int64_t chase(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, struct ring *ring, int64_t steps);

/* Creates links through all lines, in an order that no prefetcher predicts. */
void fill_ring(uint32_t *links, uint32_t lines);

/* Returns the time of a chain of dependent multiplications or additions, each of which waits for the previous one. */
int64_t time_multiplications(int64_t length);
int64_t time_additions(int64_t length);

#endif
