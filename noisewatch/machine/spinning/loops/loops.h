/* The measuring loops, without Python: they never allocate, print, lock or fault. Times are in ns. */
#ifndef NOISEWATCH_LOOPS_H
#define NOISEWATCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* A gap in shared memory, as four words: start (CLOCK_MONOTONIC), length, context switches, time spent waiting. */
enum { GAP_START, GAP_LENGTH, GAP_SWITCHES, GAP_WAITED, GAP_WORDS };

/* A spinner's measurements so far, in shared memory; the parent reads them while the loop runs. */
enum { SPIN_COUNT, SPIN_LOST_COUNT, SPIN_LOST_NS, SPIN_LOST_MAX, SPIN_ITERATIONS, SPIN_NS, SPIN_WORDS };

/* A sample of fixed work, as two words: start, length. */
enum { WORK_START, WORK_LENGTH, WORK_WORDS };

struct spin {
    int64_t *gaps;          /* room for `capacity` gaps */
    int64_t capacity;
    int64_t *totals;        /* SPIN_WORDS words */
    int64_t until;          /* when to end */
    int64_t threshold;      /* the shortest step of the clock that is a gap */
    int schedstat;          /* descriptor of /proc/thread-self/schedstat; -1: the time spent waiting is unknown */
    int64_t delay;          /* for tests: length of artificial delays */
    int64_t delay_every;    /* for tests: time between delays; 0: no delays */
    int64_t delay_count;    /* number of delays so far */
};

/* Returns the time of `count` consecutive clock readings, the lower bound for a loop that reads the clock. */
int64_t time_clock_readings(int64_t count);

/* Reads the clock until `until`, and records each step of at least `threshold` as a gap. */
void spin(struct spin *spin);

/* Repeats `rounds` rounds of dense work (as many instructions per cycle as the core can execute) until `until`, at most
 * `capacity` times. Returns the number of samples. */
int64_t dense(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t rounds);

/* Like `dense`, with chains of `length` multiplications, each of which waits for the previous one. */
int64_t chain(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t length);

/* A ring of `lines` links (a power of two), one in each cache line. */
enum { LINK_WORDS = 16 };
struct ring {
    const uint32_t *links;
    uint32_t lines;
    uint32_t at;            /* where the last chase ended and the next one continues */
};

/* Like `dense`, following `steps` links. */
int64_t chase(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, struct ring *ring, int64_t steps);

/* Memory that is copied in cache lines, from one place after another in the source, again and again. Both lengths are
 * multiples of LINE_BYTES, and the target is aligned to LINE_BYTES. */
enum { LINE_BYTES = 64 };
struct copy {
    const char *source;
    size_t source_bytes;
    char *target;
    size_t target_bytes;
    size_t at;              /* the place in the source where the next copy begins */
};

/* Like `dense`, copying `lines` cache lines past the caches if the CPU can do that. */
int64_t stream(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, struct copy *copy, int64_t lines);

/* Links all lines in an order that no prefetcher predicts. */
void fill_ring(uint32_t *links, uint32_t lines);

/* Returns the time of a chain of multiplications or additions, each of which waits for the previous one; -1 if this
 * architecture has no such chain. */
int64_t time_multiplications(int64_t length);
int64_t time_additions(int64_t length);

#endif
