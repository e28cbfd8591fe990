// How long one lane waits for one load, level by level: the figures of course/measured/h200_latency.json.
//
//     nvcc -O2 -arch=native -o latency tools/latency.cu && ./latency
//
// A pointer chase: every load gives the index of the next one, so loads cannot overlap. Steps are 128-byte lines
// in random order. Prints one JSON line per level: median of RUNS, in clock cycles of the SM.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#define CHECK(call)                                                                            \
    if (cudaError_t error = (call)) { fprintf(stderr, "%s\n", cudaGetErrorString(error)); exit(1); }

constexpr int RUNS = 9, STEPS = 16384, WORDS_PER_LINE = 32;

enum Level { REGISTERS, SHARED, L1, L2, DRAM };

template <Level level> __global__ void chase(const unsigned* next, unsigned lines, long long* cycles, unsigned* sink) {
    __shared__ unsigned tile[4096];
    unsigned at = 0;
    float value = next[0];
    if (level == SHARED)
        for (unsigned n = 0; n < 4096; n++) tile[n] = (n + 1) % 4096;
    if (level == L1 || level == L2)  // warm the cache: once through everything
        for (unsigned n = 0; n < lines; n++)
            at = level == L1 ? __ldca(next + at) : __ldcg(next + at);
    long long start = clock64();
#pragma unroll 16
    for (int n = 0; n < STEPS; n++) {
        if (level == REGISTERS) value = fmaf(value, value, 1.0f);
        if (level == SHARED) at = tile[at];
        if (level == L1) at = __ldca(next + at);
        if (level == L2 || level == DRAM) at = __ldcg(next + at);
    }
    *sink = at + (value == 3.0f);  // before the clock is read: the last load must have arrived
    __threadfence_block();
    *cycles = clock64() - start;
}

template <Level level> void measure(const char* name, size_t bytes) {
    unsigned lines = bytes / 128, *next, *sink;
    long long* cycles;
    CHECK(cudaMalloc(&next, bytes));
    CHECK(cudaMalloc(&sink, 4));
    CHECK(cudaMallocManaged(&cycles, 8));
    std::vector<unsigned> order(lines), host(bytes / 4, 0);
    std::mt19937 random(1);
    std::vector<double> taken;
    for (int run = 0; run < RUNS; run++) {
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin() + 1, order.end(), random);
        for (unsigned n = 0; n < lines; n++)
            host[size_t(order[n]) * WORDS_PER_LINE] = order[(n + 1) % lines] * WORDS_PER_LINE;
        CHECK(cudaMemcpy(next, host.data(), bytes, cudaMemcpyHostToDevice));
        chase<level><<<1, 1>>>(next, lines, cycles, sink);
        CHECK(cudaDeviceSynchronize());
        taken.push_back(double(*cycles) / STEPS);
    }
    std::sort(taken.begin(), taken.end());
    printf("{\"level\": \"%s\", \"cycles\": %.1f, \"lowest\": %.1f, \"highest\": %.1f, \"working_set_bytes\": %zu}\n", name,
           taken[RUNS / 2], taken[0], taken[RUNS - 1], bytes);
    CHECK(cudaFree(next));
}

int main() {
    measure<REGISTERS>("registers", 128);
    measure<SHARED>("shared", 16 << 10);
    measure<L1>("l1", 32 << 10);
    measure<L2>("l2", 8 << 20);
    measure<DRAM>("dram", size_t(1) << 30);
}
