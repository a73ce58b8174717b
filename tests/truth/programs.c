/* Benchmarks for each kind of work, independent of noisewatch's own. `programs KIND SAMPLES LOOPS` prints the time (ns)
 * of each sample of LOOPS loops, one per line. `programs KIND` prints the shortest time (ns) of one loop. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static volatile double sink;

/* Latency: each step of a floating-point recurrence waits for the previous one. */
static void recurrence(void) {
    double x = sink * 0 + 0.3;
    for (int step = 0; step < 20000; step++)
        x = x * 0.999 + 1e-3;
    sink = x;
}

/* Throughput: products of small matrices, whose sums are independent. */
static void matrices(void) {
    static float a[32][32], b[32][32], c[32][32];
    a[1][1] = (float)sink;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 32; i++)
            for (int k = 0; k < 32; k++)
                for (int j = 0; j < 32; j++)
                    c[i][j] += a[i][k] * b[k][j];
    sink = c[3][3];
}

/* Interpreter: byte codes of an invented language, a stack, and branches that depend on data. */
static void bytecodes(void) {
    static const uint8_t code[] = {0, 1, 2, 3, 1, 4, 2, 5, 0, 3, 4, 1, 5, 2, 0, 4};
    static int64_t stack[64];
    uint64_t state = 88172645463325252ULL;
    size_t top = 8;
    for (int step = 0; step < 12000; step++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        switch (code[(step + (state & 3)) & 15]) {
        case 0: stack[top & 63] = (int64_t)state; top++; break;
        case 1: stack[(top - 1) & 63] += stack[(top - 2) & 63]; break;
        case 2: top--; break;
        case 3: if (stack[top & 63] & 1) top++; break;
        case 4: stack[top & 63] ^= stack[(top - 3) & 63] >> 3; break;
        default: stack[(top - 1) & 63] *= 31; break;
        }
    }
    sink = (double)stack[3];
}

/* Last-level cache and memory: a random walk through 4 MB and through 64 MB. */
enum { IN_CACHE = 1 << 20, IN_MEMORY = 1 << 24 };
static uint32_t *links;

static void walk(void) {
    static uint32_t at;
    uint32_t place = at;
    for (int step = 0; step < 1000; step++)
        place = links[place];
    at = place;
}

/* Sattolo's shuffle: a single cycle through all words. */
static int make_walk(uint32_t words) {
    uint64_t state = 88172645463325252ULL;
    links = malloc(sizeof *links * words);
    if (links == NULL)
        return 0;
    for (uint32_t at = 0; at < words; at++)
        links[at] = at;
    for (uint32_t at = words - 1; at > 0; at--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t other = (uint32_t)(state % at), kept = links[at];
        links[at] = links[other];
        links[other] = kept;
    }
    return 1;
}

static int64_t time_of(void (*loop)(void), int64_t loops) {
    int64_t start = now();
    for (int64_t left = loops; left > 0; left--)
        loop();
    return now() - start;
}

int main(int count, char **arguments) {
    const struct {
        const char *name;
        void (*loop)(void);
        uint32_t words;
    } kinds[] = {
        {"latency", recurrence, 0}, {"throughput", matrices, 0}, {"interpreter", bytecodes, 0},
        {"cache", walk, IN_CACHE}, {"memory", walk, IN_MEMORY},
    };
    void (*loop)(void) = NULL;
    uint32_t words = 0;
    for (size_t at = 0; count > 1 && at < sizeof kinds / sizeof *kinds; at++)
        if (strcmp(kinds[at].name, arguments[1]) == 0) {
            loop = kinds[at].loop;
            words = kinds[at].words;
        }
    if (loop == NULL || (words > 0 && !make_walk(words)))
        return 2;
    if (count < 4) {
        int64_t best = INT64_MAX;
        for (int round = 0; round < 200; round++) {
            int64_t ns = time_of(loop, 20) / 20;
            best = ns < best ? ns : best;
        }
        printf("%lld\n", (long long)best);
        return 0;
    }
    int64_t samples = atoll(arguments[2]), loops = atoll(arguments[3]);
    time_of(loop, loops); /* to warm up, as pyperf does */
    for (int64_t left = samples; left > 0; left--)
        printf("%lld\n", (long long)time_of(loop, loops));
    return 0;
}
