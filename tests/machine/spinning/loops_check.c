/* A test of the loops without Python, for processors that are only emulated here; built and run by .ci/run. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../../noisewatch/machine/spinning/loops/loops.h"

#define MS 1000000LL
#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            printf("line %d: failed: %s\n", __LINE__, #condition);                                                    \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void delays_are_found(void) {
    static int64_t gaps[GAP_WORDS * 10000], totals[SPIN_WORDS];
    struct spin spinning = {.gaps = gaps, .capacity = 10000, .totals = totals, .until = now() + 500 * MS,
                            .threshold = 100000, .schedstat = -1, .delay = 200000, .delay_every = 5 * MS};
    spin(&spinning);
    int64_t found = 0;
    for (int64_t at = 0; at < totals[SPIN_COUNT]; at++)
        found += gaps[at * GAP_WORDS + GAP_LENGTH] >= 200000;
    CHECK(spinning.delay_count > 10);
    CHECK(found >= spinning.delay_count - 1);
    CHECK(totals[SPIN_NS] >= 490 * MS && totals[SPIN_ITERATIONS] > 1000);
    printf("delays: %lld made, %lld found\n", (long long)spinning.delay_count, (long long)found);
}

static void work_has_no_breaks(void) {
    static int64_t samples[WORK_WORDS * 10000];
    int64_t count = 0;
    CHECK(dense(samples, 10000, &count, now() + 50 * MS, 100) == count && count > 1);
    for (int64_t at = 1; at < count; at++)
        CHECK(samples[at * 2] == samples[at * 2 - 2] + samples[at * 2 - 1]);
    count = 0;
    CHECK(dense(samples, 3, &count, now() + 1000 * MS, 1) == 3);
}

static void a_ring_is_followed(void) {
    static uint32_t links[LINK_WORDS << 12];
    static int64_t samples[WORK_WORDS * 1000];
    static char seen[1 << 12];
    struct ring ring = {.links = links, .lines = 1 << 12};
    int64_t count = 0;
    fill_ring(links, 1 << 12);
    for (uint32_t at = 0, left = 1 << 12; left > 0; left--, at = links[at * LINK_WORDS])
        CHECK(!seen[at]++);
    CHECK(chase(samples, 1000, &count, now() + 20 * MS, &ring, 1000) > 1);
    CHECK(ring.at < 1 << 12);
    for (size_t at = 0; at < sizeof links / sizeof *links; at++)
        links[at] = UINT32_MAX; /* links out of the ring must be followed within it */
    CHECK(chase(samples, 1000, &count, now() + 20 * MS, &ring, 1000) > 1);
}

static void lines_are_copied(void) {
    static char source[5 * LINE_BYTES], target[2 * LINE_BYTES] __attribute__((aligned(LINE_BYTES)));
    static int64_t samples[WORK_WORDS * 1000];
    struct copy copy = {.source = source, .source_bytes = sizeof source, .target = target, .target_bytes = sizeof target};
    int64_t count = 0;
    for (size_t at = 0; at < sizeof source; at++)
        source[at] = (char)(at / LINE_BYTES);
    CHECK(stream(samples, 1, &count, now() + 1000 * MS, &copy, 7) == 1);
    CHECK(copy.at == 2 * LINE_BYTES && target[0] == 1 && target[LINE_BYTES] == 0);
}

int main(void) {
    delays_are_found();
    work_has_no_breaks();
    a_ring_is_followed();
    lines_are_copied();
    CHECK(time_clock_readings(1000) > 0);
    printf("multiplications %lld ns, additions %lld ns\n", (long long)time_multiplications(25600),
           (long long)time_additions(25600));
    return 0;
}
