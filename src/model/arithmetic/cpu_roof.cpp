#include "model/arithmetic/cpu_roof.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t chain_steps = 200'000;
constexpr int chains = 20;  // independent, enough for two units of four cycles' latency and then some
std::atomic<float> sink;    // keeps the loops from being removed

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double run_chains_avx512() {
  __m512 sums[chains];
  for (auto& sum : sums) sum = _mm512_set1_ps(0.5f);
  const __m512 factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (std::int64_t i = 0; i < chain_steps; ++i) {
#pragma GCC unroll 20
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  }
  __m512 all = sums[0];
  for (int i = 1; i < chains; ++i) all = _mm512_add_ps(all, sums[i]);
  sink = _mm512_cvtss_f32(all);
  return 2.0 * 16 * chains * chain_steps;
}

__attribute__((target("avx2,fma"))) double run_chains_avx2() {
  __m256 sums[chains / 2];
  for (auto& sum : sums) sum = _mm256_set1_ps(0.5f);
  const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (std::int64_t i = 0; i < chain_steps; ++i) {
#pragma GCC unroll 10
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  }
  __m256 all = sums[0];
  for (int i = 1; i < chains / 2; ++i) all = _mm256_add_ps(all, sums[i]);
  sink = _mm256_cvtss_f32(all);
  return 2.0 * 8 * (chains / 2) * chain_steps;
}
#endif

double run_chains_plain() {
  float sums[chains];
  for (float& sum : sums) sum = 0.5f;
  for (std::int64_t i = 0; i < chain_steps; ++i)
    for (float& sum : sums) sum = sum * 0.999f + 0.001f;
  sink = std::accumulate(sums, sums + chains, 0.0f);
  return 2.0 * chains * chain_steps;
}

double run_chains() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return run_chains_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return run_chains_avx2();
#endif
  return run_chains_plain();
}

template <class Body>
double best_seconds(int rounds, const Body& body) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

double measure_cpu_flops(ThreadTeam& team) {
  const std::int64_t parts = team.size();
  std::vector<double> done(static_cast<std::size_t>(parts));
  const double chain_s = best_seconds(
      8, [&] { team.run(parts, [&](std::int64_t part) { done[static_cast<std::size_t>(part)] = run_chains(); }); });
  return std::accumulate(done.begin(), done.end(), 0.0) / chain_s;
}

MachineRoof measure_cpu(ThreadTeam& team) {
  MachineRoof roof;
  roof.flops = measure_cpu_flops(team);
  constexpr std::size_t words = std::size_t{32} << 20;  // 256 MiB
  constexpr std::int64_t pieces = 64;
  const std::vector<std::uint64_t> memory(words, 3);
  std::vector<std::uint64_t> sums(pieces);
  const double read_s = best_seconds(4, [&] {
    team.run(pieces, [&](std::int64_t piece) {
      constexpr std::size_t piece_words = words / pieces;
      const std::uint64_t* from = memory.data() + static_cast<std::size_t>(piece) * piece_words;
      std::uint64_t lanes[16] = {};
      for (std::size_t i = 0; i < piece_words; i += 16)
        for (std::size_t lane = 0; lane < 16; ++lane) lanes[lane] += from[i + lane];
      sums[static_cast<std::size_t>(piece)] = std::accumulate(lanes, lanes + 16, std::uint64_t{0});
    });
  });
  sink = static_cast<float>(sums[0]);
  roof.bytes_per_s = static_cast<double>(words * sizeof(std::uint64_t)) / read_s;
  roof.cache_bytes = std::max(0.0, static_cast<double>(::sysconf(_SC_LEVEL3_CACHE_SIZE)));
  return roof;
}

}  // namespace kw
