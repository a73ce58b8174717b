#include <benchmark/benchmark.h>
#include <cstdint>

static void sum(benchmark::State &state) {
    for (auto _ : state) {
        std::uint64_t x = 1;
        for (std::uint64_t i = 0; i < 20000; i++)
            benchmark::DoNotOptimize(x = x * 6364136223846793005u + i);
    }
}

BENCHMARK(sum);
BENCHMARK_MAIN();
