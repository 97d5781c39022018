// How fast the model's arithmetic on the CPU is, in one run on one machine: products as a share of what the cores reach
// in a loop of fused multiply-adds that touches no memory, everything else in elements or bytes a second.
//   build/src/model/arithmetic/arithmetic_bench [--threads N] [--seconds N] [--only TEXT] [--pin 1]
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "model/arithmetic/attention.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/linear.h"
#include "model/arithmetic/optimizer.h"
#include "model/arithmetic/rows.h"
#include "model/weights/float_formats.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace kw;

struct Options {
  int threads = 0;
  double seconds = 0.15;  // of each line, at least
  std::string only;
  bool pin = false;
};

std::vector<float> numbers(std::int64_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

// Of one thread: the time that it had a core, so that others on the machine do not count. Of a team: the wall's.
double seconds_now(const Options& options) {
  timespec time{};
  ::clock_gettime(options.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Seconds of one call: the fastest of short series, because others may use the machine.
double time_of(const Options& options, const std::function<void()>& what) {
  what();
  double best = 1e9, total = 0;
  std::int64_t calls = 1;
  while (total < options.seconds) {
    const double start = seconds_now(options);
    for (std::int64_t i = 0; i < calls; ++i) what();
    const double seconds = seconds_now(options) - start;
    total += seconds;
    best = std::min(best, seconds / static_cast<double>(calls));
    if (seconds < 1e-4) calls *= 2;
  }
  return best;
}

#if defined(__x86_64__)
// 24 chains of fused multiply-adds hide the latency; returns the operations done.
__attribute__((target("avx512f"))) double chains_avx512(std::int64_t steps) {
  __m512 sums[24];
  for (auto& sum : sums) sum = _mm512_set1_ps(0.5f);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, a, b);
  }
  __m512 all = sums[0];
  for (int i = 1; i < 24; ++i) all = _mm512_add_ps(all, sums[i]);
  volatile float sink = all[0];
  (void)sink;
  return 24.0 * 16 * 2 * static_cast<double>(steps);
}
__attribute__((target("avx2,fma"))) double chains_avx2(std::int64_t steps) {
  __m256 sums[12];
  for (auto& sum : sums) sum = _mm256_set1_ps(0.5f);
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, a, b);
  }
  __m256 all = sums[0];
  for (int i = 1; i < 12; ++i) all = _mm256_add_ps(all, sums[i]);
  volatile float sink = all[0];
  (void)sink;
  return 12.0 * 8 * 2 * static_cast<double>(steps);
}
#endif

// GFLOP/s of the team without memory; 0 where there is no such loop.
double peak(const Options& options, ThreadTeam& team) {
#if defined(__x86_64__)
  const bool wide = std::string_view(kernels().name) == "avx512";
  if (!wide && std::string_view(kernels().name) != "avx2") return 0;
  constexpr std::int64_t steps = 20000;
  const int parts = 2 * team.size();
  double operations = 0;
  const double seconds = time_of(options, [&] {
    team.run(parts, [&](std::int64_t part) {
      const double done = wide ? chains_avx512(steps) : chains_avx2(steps);
      if (part == 0) operations = done;
    });
  });
  return operations * parts / seconds / 1e9;
#else
  (void)options, (void)team;
  return 0;
#endif
}

// Each thread of the team on a core of its own: on a busy machine two of them may else share one for a long time.
void pin(ThreadTeam& team) {
  std::atomic<int> arrived{0};
  team.run(team.size(), [&](std::int64_t) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(arrived.fetch_add(1), &core);
    ::sched_setaffinity(0, sizeof core, &core);
    while (arrived.load() < team.size()) std::this_thread::yield();  // so that no thread takes two parts
  });
}

struct Bench {
  Options options;
  ThreadTeam team;
  double peak_gflops = 0;

  explicit Bench(const Options& chosen) : options(chosen), team(chosen.threads) {}

  bool wanted(const std::string& name) const { return name.find(options.only) != std::string::npos; }

  void product_line(const std::string& name, double multiply_adds, const std::function<void()>& what) {
    if (!wanted(name)) return;
    const double seconds = time_of(options, what), gflops = 2 * multiply_adds / seconds / 1e9;
    fmt::print("| {:<44} | {:>9.1f} us | {:>6.1f} | {:>4.0f} % |\n", name, seconds * 1e6, gflops,
               peak_gflops > 0 ? 100 * gflops / peak_gflops : 0);
    std::fflush(stdout);
  }

  void memory_line(const std::string& name, double elements, double bytes, const std::function<void()>& what) {
    if (!wanted(name)) return;
    const double seconds = time_of(options, what);
    fmt::print("| {:<44} | {:>9.1f} us | {:>6.2f} | {:>6.1f} |\n", name, seconds * 1e6, elements / seconds / 1e9,
               bytes / seconds / 1e9);
    std::fflush(stdout);
  }
};

std::vector<std::byte> random_blocks(BlockFormat format, std::int64_t elements) {
  const BlockLayout layout = block_layout(format);
  std::vector<std::byte> blocks(elements / layout.elements * layout.bytes);
  std::mt19937 random(3);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random() & 255);
  for (std::size_t at = 0; at < blocks.size(); at += layout.bytes) {
    const std::uint16_t half = f16_of_float(0.01f);
    std::memcpy(blocks.data() + at, &half, 2);
    if (format == BlockFormat::q4_1) std::memcpy(blocks.data() + at + 2, &half, 2);
  }
  return blocks;
}

// One weight again and again: it stays in the cache, so this is the cost of expanding it.
void quantised(Bench& bench) {
  constexpr std::int64_t in = 512, out = 1536;
  constexpr std::pair<BlockFormat, const char*> formats[] = {{BlockFormat::f16, "f16"},   {BlockFormat::bf16, "bf16"},
                                                             {BlockFormat::q8_0, "q8_0"}, {BlockFormat::q4_0, "q4_0"},
                                                             {BlockFormat::q4_1, "q4_1"}, {BlockFormat::q4_k, "q4_k"},
                                                             {BlockFormat::q6_k, "q6_k"}};
  for (const auto& [format, name] : formats) {
    const PackedWeight packed = PackedWeight::from_blocks(format, random_blocks(format, out * in), out, in);
    {
      constexpr std::int64_t rows = 2048;
      const auto dy = numbers(rows * out);
      std::vector<float> dx(rows * in);
      bench.product_line(fmt::format("{} rows, {} -> {}, {}, input gradient", rows, in, out, name),
                         static_cast<double>(rows * in * out),
                         [&] { linear_input_gradient(bench.team, rows, dy.data(), packed, dx.data(), false); });
    }
    for (const std::int64_t rows : {1, 4, 16, 2048}) {
      const auto x = numbers(rows * in);
      std::vector<float> y(rows * out);
      bench.product_line(fmt::format("{} rows, {} -> {}, {}", rows, in, out, name),
                         static_cast<double>(rows * in * out),
                         [&] { linear(bench.team, {x.data(), in, y.data(), out, rows}, packed, nullptr); });
    }
  }
}

void products(Bench& bench) {
  struct Shape {
    std::int64_t rows, in, out;
  };
  const Shape shapes[] = {{2048, 128, 128}, {2048, 128, 384},  {2048, 384, 128},  {2048, 192, 512}, {2048, 128, 4096},
                          {2048, 576, 576}, {2048, 576, 1536}, {2048, 1536, 576}, {256, 128, 4096}, {64, 128, 384},
                          {16, 128, 384},   {1, 128, 384},     {64, 576, 1536},   {16, 576, 1536},  {1, 576, 1536}};
  for (const Shape& s : shapes) {
    const auto x = numbers(s.rows * s.in), w = numbers(s.out * s.in), dy = numbers(s.rows * s.out);
    std::vector<float> y(s.rows * s.out), dx(s.rows * s.in), dw(s.out * s.in);
    const PackedWeight packed = PackedWeight::from_floats(w, s.out, s.in);
    const double work = static_cast<double>(s.rows) * s.in * s.out;
    const std::string name = fmt::format("{} rows, {} -> {}", s.rows, s.in, s.out);
    bench.product_line(name + ", packed", work,
                       [&] { linear(bench.team, {x.data(), s.in, y.data(), s.out, s.rows}, packed, nullptr); });
    if (s.rows < 256) continue;
    bench.product_line(name + ", not packed", work, [&] {
      linear(bench.team, {x.data(), s.in, y.data(), s.out, s.rows}, w.data(), s.out, s.in, nullptr);
    });
    bench.product_line(name + ", input gradient", work, [&] {
      linear_input_gradient(bench.team, s.rows, dy.data(), w.data(), s.out, s.in, dx.data(), false);
    });
    bench.product_line(name + ", weight gradient", work, [&] {
      linear_weight_gradient(bench.team, s.rows, dy.data(), x.data(), s.out, s.in, dw.data(), nullptr);
    });
  }
}

// All products of SmolLM2-135M for a step of decoding, as its GGUF file has them: Q4_1, and Q8_0 for the vocabulary.
void smollm2(Bench& bench) {
  if (!bench.wanted("SmolLM2")) return;
  constexpr std::int64_t hidden = 576, kv = 192, inner = 1536, vocabulary = 49152, layers = 30;
  struct Layer {
    PackedWeight q, k, v, o, gate, up, down;
  };
  const auto weight = [](std::int64_t out, std::int64_t in) {
    return PackedWeight::from_blocks(BlockFormat::q4_1, random_blocks(BlockFormat::q4_1, out * in), out, in);
  };
  std::vector<Layer> model(layers);
  std::size_t bytes = 0;
  double work = static_cast<double>(vocabulary) * hidden;
  for (Layer& layer : model) {
    layer = {weight(hidden, hidden), weight(kv, hidden),    weight(kv, hidden),   weight(hidden, hidden),
             weight(inner, hidden),  weight(inner, hidden), weight(hidden, inner)};
    for (const PackedWeight* w : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      bytes += w->bytes();
      work += static_cast<double>(w->out()) * static_cast<double>(w->in());
    }
  }
  const PackedWeight head = PackedWeight::from_blocks(
      BlockFormat::q8_0, random_blocks(BlockFormat::q8_0, vocabulary * hidden), vocabulary, hidden);
  bytes += head.bytes();
  fmt::print("\nSmolLM2-135M, all products of a step, {:.0f} MB of Q4_1 and Q8_0\n\n",
             static_cast<double>(bytes) / 1e6);
  fmt::print("| rows | step | tokens/s | GFLOP/s | of peak | weights |\n|---|---|---|---|---|---|\n");
  for (const std::int64_t rows : {1, 2, 4, 6, 8, 12, 16, 32, 64}) {
    const auto x = numbers(rows * hidden), h = numbers(rows * inner);
    std::vector<float> y(rows * inner), z(rows * inner), logits(rows * vocabulary);
    const auto step = [&] {
      const LinearRows from_hidden{x.data(), hidden, y.data(), inner, rows};
      const LinearRows from_inner{h.data(), inner, z.data(), inner, rows};
      for (const Layer& layer : model) {
        for (const PackedWeight* w : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up}) {
          linear(bench.team, from_hidden, *w, nullptr);
        }
        linear(bench.team, from_inner, layer.down, nullptr);
      }
      linear(bench.team, {x.data(), hidden, logits.data(), vocabulary, rows}, head, nullptr);
    };
    const double seconds = time_of(bench.options, step), gflops = 2 * work * static_cast<double>(rows) / seconds / 1e9;
    fmt::print("| {:>2} | {:>6.2f} ms | {:>6.0f} | {:>5.1f} | {:>3.0f} % | {:>4.1f} GB/s |\n", rows, seconds * 1e3,
               static_cast<double>(rows) / seconds, gflops,
               bench.peak_gflops > 0 ? 100 * gflops / bench.peak_gflops : 0,
               static_cast<double>(bytes) / seconds / 1e9);
    std::fflush(stdout);
  }
}

void attention(Bench& bench) {
  struct Case {
    AttentionShape shape;
    std::int64_t sequences, rows, first;
  };
  const Case cases[] = {{{4, 4, 32, 0.1767767f}, 8, 256, 0}, {{4, 2, 32, 0.1767767f}, 4, 512, 0},
                        {{9, 3, 64, 0.125f}, 4, 512, 0},     {{4, 4, 32, 0.1767767f}, 64, 1, 255},
                        {{9, 3, 64, 0.125f}, 1, 1, 511},     {{9, 3, 64, 0.125f}, 16, 1, 511}};
  for (const Case& c : cases) {
    const AttentionShape& shape = c.shape;
    const std::int64_t length = c.first + c.rows, pages = (length + page_tokens - 1) / page_tokens;
    const std::int64_t q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
    auto keys = numbers(c.sequences * pages * shape.page_floats()), values = keys;
    const auto q = numbers(c.sequences * c.rows * q_width), k = numbers(c.sequences * length * kv_width), v = k;
    std::vector<float> out(q.size()), log_sum(c.sequences * c.rows * shape.heads), dq(q.size()), dk(k.size()),
        dv(k.size());
    std::vector<KvPage> all(c.sequences * pages);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {keys.data() + i * shape.page_floats(), values.data() + i * shape.page_floats()};
    }
    std::vector<AttentionRows> forward;
    std::vector<AttentionGradient> backward;
    for (std::int64_t s = 0; s < c.sequences; ++s) {
      for (std::int64_t t = 0; t < length; ++t) {
        write_token(shape, all[s * pages + t / page_tokens], t % page_tokens, k.data() + (s * length + t) * kv_width,
                    v.data() + (s * length + t) * kv_width);
      }
      const std::int64_t at = s * c.rows * q_width;
      forward.push_back({q.data() + at, q_width, out.data() + at, q_width, log_sum.data() + s * c.rows * shape.heads,
                         c.rows, c.first, std::span(all).subspan(s * pages, pages)});
      backward.push_back({c.rows, q.data() + at, k.data() + s * length * kv_width, v.data() + s * length * kv_width,
                          out.data() + at, log_sum.data() + s * c.rows * shape.heads, q.data() + at, dq.data() + at,
                          dk.data() + s * length * kv_width, dv.data() + s * length * kv_width, q_width, kv_width,
                          q_width});
    }
    double pairs = 0;
    for (std::int64_t i = 0; i < c.rows; ++i) pairs += static_cast<double>(c.first + i + 1);
    const double work = pairs * static_cast<double>(c.sequences * q_width);
    const auto name = fmt::format("attention {} x {} rows at {}, {}/{} x {}", c.sequences, c.rows, c.first, shape.heads,
                                  shape.kv_heads, shape.head_dim);
    bench.product_line(name, 2 * work, [&] { attend(bench.team, shape, forward); });
    if (c.first == 0) {
      bench.product_line(name + ", gradient", 5 * work, [&] { attend_gradient(bench.team, shape, backward); });
    }
  }
}

void rows_and_optimizer(Bench& bench) {
  fmt::print("\n| what | time | G elements/s | GB/s |\n|---|---|---|---|\n");
  constexpr std::int64_t rows = 2048, width = 576;
  const double count = rows * width;
  auto x = numbers(rows * width), dy = numbers(rows * width), weight = numbers(width);
  std::vector<float> y(rows * width), other(rows * width), inverse(rows), dweight(width);
  bench.memory_line("rms_norm 2048 x 576", count, 8 * count, [&] {
    rms_norm(bench.team, rows, width, x.data(), weight.data(), 1e-5f, y.data(), inverse.data());
  });
  bench.memory_line("rms_norm_gradient 2048 x 576", count, 24 * count, [&] {
    rms_norm_gradient(bench.team, rows, width, x.data(), weight.data(), inverse.data(), dy.data(), y.data(),
                      dweight.data());
  });
  bench.memory_line("swiglu 2048 x 576", count, 12 * count,
                    [&] { swiglu(bench.team, rows, width, x.data(), dy.data(), y.data()); });
  bench.memory_line("swiglu_gradient 2048 x 576", count, 20 * count, [&] {
    swiglu_gradient(bench.team, rows, width, x.data(), dy.data(), dy.data(), y.data(), other.data());
  });
  const RotaryTable table(64, 100000, rows);
  std::vector<std::int32_t> positions(rows);
  for (std::int64_t i = 0; i < rows; ++i) positions[i] = static_cast<std::int32_t>(i);
  bench.memory_line("rotate 2048 x 9 x 64", count, 8 * count,
                    [&] { rotate(bench.team, table, positions, y.data(), width, 9); });
  const auto logits = numbers(49152);
  TokenScore score;
  bench.memory_line("score_token 49152, one thread", 49152, 4 * 49152,
                    [&] { score = score_token(logits.data(), 49152, 1, 7); });
  bench.memory_line("sum_of_squares 2048 x 576", count, 4 * count, [&] { (void)sum_of_squares(bench.team, x); });
  constexpr std::int64_t parameters = 3'000'000;
  auto p = numbers(parameters), g = numbers(parameters);
  std::vector<float> m(parameters), v(parameters);
  bench.memory_line("adamw 3 M parameters", parameters, 28.0 * parameters,
                    [&] { adamw(bench.team, {.learning_rate = 1e-3f}, p, g, m, v); });
  bench.memory_line("packing 4096 x 576 floats, one thread", 4096 * 576, 8 * 4096 * 576,
                    [&] { (void)PackedWeight::from_floats(std::span(p).first(4096 * 576), 4096, 576); });
  bench.memory_line("an empty run of the team", 1, 0, [&] { bench.team.run(bench.team.size(), [](std::int64_t) {}); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--threads") == 0) options.threads = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--seconds") == 0) options.seconds = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) options.only = argv[i + 1];
    if (std::strcmp(argv[i], "--pin") == 0) options.pin = std::atoi(argv[i + 1]) != 0;
  }
  Bench bench(options);
  if (options.pin) pin(bench.team);
  bench.peak_gflops = peak(options, bench.team);
  fmt::print("{} threads, {}; registers alone: {:.0f} GFLOP/s\n\n", bench.team.size(), kernels().name,
             bench.peak_gflops);
  fmt::print("| product | time | GFLOP/s | of peak |\n|---|---|---|---|\n");
  products(bench);
  quantised(bench);
  attention(bench);
  smollm2(bench);
  rows_and_optimizer(bench);
}
