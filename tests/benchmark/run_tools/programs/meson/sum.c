#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv) {
    const uint64_t steps = strtoull(argc > 1 ? argv[1] : "1", NULL, 10) * 1000000;
    volatile uint64_t sum;
    uint64_t x = 1;
    const int64_t began_ns = now_ns();
    for (uint64_t i = 0; i < steps; i++)
        x = x * UINT64_C(6364136223846793005) + i;
    sum = x;
    (void)sum;
    printf("%" PRId64 " ns\n", now_ns() - began_ns);
}
