/* The measuring loops, without Python: nothing in them allocates, prints, locks or faults. Times are ns. */
#ifndef NOISEWATCH_LOOPS_H
#define NOISEWATCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* A gap as four words in shared memory: start (CLOCK_MONOTONIC), length, context switches, time spent waiting. */
enum { GAP_START, GAP_LENGTH, GAP_SWITCHES, GAP_WAITED, GAP_WORDS };

/* What a spinner has seen so far, in shared memory; the parent reads it while the loop runs. */
enum { SPIN_COUNT, SPIN_LOST_COUNT, SPIN_LOST_NS, SPIN_LOST_MAX, SPIN_ITERATIONS, SPIN_NS, SPIN_WORDS };

/* A fixed piece of work as two words: start, length. */
enum { WORK_START, WORK_LENGTH, WORK_WORDS };

struct spin {
    int64_t *gaps;          /* room for `capacity` gaps */
    int64_t capacity;
    int64_t *totals;        /* SPIN_WORDS words */
    int64_t until;          /* when to end */
    int64_t threshold;      /* the shortest step of the clock that is a gap */
    int schedstat;          /* /proc/thread-self/schedstat, opened; -1: the time spent waiting is not known */
    int64_t delay;          /* for the proof of the loop: waste so much on purpose ... */
    int64_t delay_every;    /* ... every so often; 0: never */
    int64_t delay_count;    /* how often that was done */
};

/* The time of `count` readings of the clock, with nothing else between them: what a loop that looks at it can be. */
int64_t time_clock_readings(int64_t count);

/* Reads the clock until `until`, and notes each step of at least `threshold`. */
void spin(struct spin *spin);

/* Does `rounds` rounds of dense work, of as many instructions a cycle as the core can do, again and again until `until`,
 * at most `capacity` times; returns how often. */
int64_t dense(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t rounds);

/* The same with chains of `length` multiplications, each of which waits for the one before. */
int64_t chain(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t length);

/* Links through memory, one to a cache line: `lines` of them, a power of two. */
enum { LINK_WORDS = 16 };
struct ring {
    const uint32_t *links;
    uint32_t lines;
    uint32_t at;            /* where the last chase ended, and the next one goes on */
};

/* Follows `steps` links again and again until `until`, at most `capacity` times; returns how often. */
int64_t chase(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, struct ring *ring, int64_t steps);

/* Makes links that lead through all lines, in an order that no prefetcher guesses. */
void fill_ring(uint32_t *links, uint32_t lines);

/* The time of a chain of dependent multiplications, or additions, each of which waits for the one before. */
int64_t time_multiplications(int64_t length);
int64_t time_additions(int64_t length);

#endif
