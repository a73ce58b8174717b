#define _GNU_SOURCE
#include "loops.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define NS_PER_S 1000000000LL
#define UNLIKELY(condition) __builtin_expect((condition), 0)

/* The parent reads while we write, so data must be written before the count that includes it. */
#define PUBLISH(place, value) __atomic_store_n((place), (value), __ATOMIC_RELEASE)

static inline int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

int64_t time_clock_readings(int64_t count) {
    int64_t start = now();
    for (int64_t left = count; left > 0; left--)
        now();
    return now() - start;
}

static int64_t switches_so_far(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return 0;
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Returns the second number of schedstat, the time spent waiting for a CPU, or -1 if it cannot be read. */
static int64_t waited_so_far(int schedstat) {
    char text[96];
    ssize_t length = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text, 0);
    ssize_t at = 0;
    int64_t value = 0;
    while (at < length && text[at] != ' ')
        at++;
    if (at >= length)
        return -1;
    for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++)
        value = value * 10 + (text[at] - '0');
    return value;
}

struct seen {
    int64_t switches, waited; /* at the previous gap */
};

/* System calls are made only here, and the clock is read again afterwards, so they never look like a gap. */
static void note_gap(struct spin *spin, struct seen *seen, int64_t start, int64_t length) {
    int64_t *totals = spin->totals;
    int64_t count = totals[SPIN_COUNT];
    if (count >= spin->capacity) {
        totals[SPIN_LOST_COUNT]++;
        totals[SPIN_LOST_NS] += length;
        if (length > totals[SPIN_LOST_MAX])
            totals[SPIN_LOST_MAX] = length;
        return;
    }
    int64_t switches = switches_so_far();
    int64_t waited = switches == seen->switches ? seen->waited : waited_so_far(spin->schedstat);
    int64_t *gap = spin->gaps + count * GAP_WORDS;
    gap[GAP_START] = start;
    gap[GAP_LENGTH] = length;
    gap[GAP_SWITCHES] = switches - seen->switches;
    gap[GAP_WAITED] = waited < 0 ? -1 : waited - seen->waited;
    seen->switches = switches;
    seen->waited = waited;
    PUBLISH(&totals[SPIN_COUNT], count + 1);
}

/* Compiled twice, once without delays, so the loop that measures contains no code for them. */
static inline __attribute__((always_inline)) void
spin_once(struct spin *spin, struct seen *seen, int64_t until, const int delays) {
    int64_t threshold = spin->threshold, iterations = 0, in_gaps = 0;
    int64_t begin = now(), previous = begin, time = begin, next_delay = begin + spin->delay_every;
    while (time < until) {
        time = now();
        int64_t step = time - previous;
        iterations++;
        if (UNLIKELY(step >= threshold)) {
            note_gap(spin, seen, previous, step);
            int64_t after = now();
            in_gaps += step + after - time;
            time = after;
        }
        previous = time;
        if (delays && time >= next_delay) {
            while (now() - time < spin->delay) {
            }
            spin->delay_count++;
            next_delay = time + spin->delay_every;
        }
    }
    spin->totals[SPIN_ITERATIONS] += iterations;
    spin->totals[SPIN_NS] += time - begin;
}

void spin(struct spin *spin) {
    struct seen seen = {switches_so_far(), waited_so_far(spin->schedstat)};
    if (spin->delay_every > 0)
        spin_once(spin, &seen, spin->until, 1);
    else
        spin_once(spin, &seen, spin->until, 0);
}

/* 16 KiB: half of the smallest common first-level cache. */
#define WORDS 2048
static uint64_t words[WORDS];

/* Loads, stores and arithmetic that do not wait for each other: as many instructions per cycle as possible, so a busy
 * sibling, which takes half of the slots, has an effect. A chain of dependent steps would hide it. */
static void one_round(void) {
    uint64_t a = 1, b = 2, c = 3, d = 5, odd = 0;
    for (size_t at = 0; at < WORDS; at += 4) {
        uint64_t first = words[at], second = words[at + 1], third = words[at + 2], fourth = words[at + 3];
        a += first ^ 0x55;
        b ^= second + at;
        c += third >> 3;
        d ^= fourth - first;
        if (UNLIKELY(first & 1))
            odd++;
        words[at] = first + 2;
        words[at + 3] = second ^ third;
    }
    words[1] ^= (a ^ b ^ c ^ d ^ odd) << 1;
}

/* A sample begins when the previous one ends, so no time is lost between them. */
#define REPEATED(samples, capacity, count, until, piece)                                                              \
    int64_t done = *(count), start = now();                                                                           \
    while (start < (until) && done < (capacity)) {                                                                    \
        piece;                                                                                                        \
        int64_t end = now();                                                                                          \
        (samples)[done * WORK_WORDS + WORK_START] = start;                                                            \
        (samples)[done * WORK_WORDS + WORK_LENGTH] = end - start;                                                     \
        PUBLISH((count), ++done);                                                                                     \
        start = end;                                                                                                  \
    }                                                                                                                 \
    return done

int64_t dense(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t rounds) {
    REPEATED(samples, capacity, count, until, {
        for (int64_t round = 0; round < rounds; round++)
            one_round();
    });
}

int64_t chain(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t length) {
    uint64_t value = 3, factor = 5;
    REPEATED(samples, capacity, count, until, {
        for (int64_t left = length; left > 0; left--) {
            __asm__ volatile("" : "+r"(factor)); /* keeps the compiler from shortening the chain */
            value *= factor;
            __asm__ volatile("" : "+r"(value));
        }
    });
}

int64_t chase(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, struct ring *ring, int64_t steps) {
    const uint32_t *links = ring->links;
    uint32_t last = ring->lines - 1; /* a mask: whatever the links contain, nothing outside the ring is read */
    REPEATED(samples, capacity, count, until, {
        uint32_t at = ring->at;
        for (int64_t step = 0; step < steps; step++)
            at = links[(size_t)(at & last) * LINK_WORDS];
        ring->at = at;
    });
}

/* Copies a cache line. If the CPU has stores that bypass the caches, which memcpy uses for large blocks, the line
 * goes to memory however large the caches are (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
 * 10.4.6.2, "Caching of Temporal vs. Non-Temporal Data"). */
static inline void copy_line(char *target, const char *source) {
#ifdef __SSE2__
    for (size_t at = 0; at < LINE_BYTES; at += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(target + at), _mm_loadu_si128((const __m128i *)(source + at)));
#else
    memcpy(target, source, LINE_BYTES);
#endif
}

int64_t stream(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, struct copy *copy, int64_t lines) {
    size_t from = copy->at, to = 0;
    REPEATED(samples, capacity, count, until, {
        for (int64_t left = lines; left > 0; left--) {
            copy_line(copy->target + to, copy->source + from);
            from = from + LINE_BYTES < copy->source_bytes ? from + LINE_BYTES : 0;
            to = to + LINE_BYTES < copy->target_bytes ? to + LINE_BYTES : 0;
        }
        copy->at = from;
    });
}

/* A linear congruential generator visits every place once if the length is a power of two, the increment is odd and the
 * factor is 1 modulo 4 (Hull and Dobell 1962, doi 10.1137/1004061). */
void fill_ring(uint32_t *links, uint32_t lines) {
    uint32_t at = 0;
    for (uint32_t left = lines; left > 0; left--) {
        uint32_t next = (at * 0x9E3775u + 0x7F4A7Bu) & (lines - 1);
        links[(size_t)at * LINK_WORDS] = next;
        at = next;
    }
}

/* Sixteen instructions in each iteration, so the loop's counter costs nothing. */
#define FOUR(instruction) instruction instruction instruction instruction
#define SIXTEEN(instruction) FOUR(instruction) FOUR(instruction) FOUR(instruction) FOUR(instruction)

#if defined(__x86_64__)
#define MULTIPLY "imul %1, %0\n\t"
#define ADD "add %1, %0\n\t"
#elif defined(__aarch64__)
#define MULTIPLY "mul %0, %0, %1\n\t"
#define ADD "add %0, %0, %1\n\t"
#endif

#ifdef MULTIPLY
#define TIMED(instruction)                                                                                            \
    uint64_t value = 3, other = 5;                                                                                    \
    int64_t start = now();                                                                                            \
    for (int64_t left = length; left > 0; left -= 16)                                                                 \
        __asm__ volatile(SIXTEEN(instruction) : "+r"(value) : "r"(other));                                            \
    return now() - start
#else
#define TIMED(instruction)                                                                                            \
    (void)length;                                                                                                     \
    return -1
#endif

int64_t time_multiplications(int64_t length) {
    TIMED(MULTIPLY);
}

int64_t time_additions(int64_t length) {
    TIMED(ADD);
}
