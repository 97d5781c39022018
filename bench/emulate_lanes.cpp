// What the lane operations cost, on values as kernels have them (between 1 and 2, small integers), and what subnormal
// numbers add. On Intel a vector multiplication (mul, fma, div, sqrt) that reads or gives a subnormal number stops for
// a microcode assist of about 150 cycles, a sum does not; on AMD's Zen it costs next to nothing. So a test that bounded
// `fma.rn.f32` and `mul.f32` at 40 ns failed with 95 ns on a quiet Intel machine, and `add.f32` did not: its samples
// were made of special values, four lanes of 32 with a product just below the smallest normal number, one or two
// assists for each instruction. Flushing (.ftz) is done on integers and is not slow itself; its product is still made.
// Kernels meet it in two places: where their values are subnormal (rare, and IEEE asks for that result), and where
// lanes are inactive and hold what another register left, often an integer, which is a subnormal number to a
// multiplier. bench/results/emulate.md has what keeping integers and numbers in slots of their own would cost
// everybody.
#include "emulate_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernel/emulate/lane_operations.h"

namespace kw {
namespace {

constexpr std::uint32_t every_lane = 0xffffffffu, half_the_lanes = 0x0f0ff0f0u;

// The forms that fill real kernels.
constexpr std::array common_forms = {
    "add.f32",     "fma.rn.f32",  "mul.f32",  "add.s32",  "mad.lo.s32", "add.s64",     "mul.wide.s32",
    "setp.lt.s32", "setp.gt.f32", "selp.f32", "selp.b32", "shl.b32",    "and.b32",     "cvt.s64.s32",
    "max.f32",     "mov.f32",     "mov.u64",  "sub.f32",  "neg.f32",    "cvt.u32.u64", "cvt.rn.f32.s32"};

struct Operands {
  struct alignas(64) SlotBytes {
    std::byte bytes[256];
  };
  std::array<SlotBytes, 4> source{};
  SlotBytes destination{};
  std::uint32_t predicates[2] = {};

  // Values of `type` in every lane: around one, or integers below 100; or the smallest numbers there are.
  void fill(std::size_t slot, PtxType type, bool subnormal) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const auto small = static_cast<std::uint64_t>(lane * 7 % 97 + 1);
      const bool is_subnormal = subnormal && slot == 0;  // one operand of a product is enough
      std::uint64_t bits = small;
      if (type == PtxType::f32) bits = is_subnormal ? small : 0x3f800000u | small << 12;
      if (type == PtxType::f64) bits = is_subnormal ? small : 0x3ff0000000000000u | small << 40;
      if (type == PtxType::f16) bits = 0x3c00u | small;
      if (type == PtxType::bf16) bits = 0x3f80u | small;
      if (type == PtxType::f16x2) bits = 0x3c003c00u | small | small << 16;
      if (type == PtxType::bf16x2) bits = 0x3f803f80u | small | small << 16;
      const std::size_t width = bytes_of(type) == 8 ? 8 : 4;
      std::memcpy(source[slot].bytes + width * lane, &bits, width);
    }
  }
};

double nanoseconds_of(const LaneForm& form, std::uint32_t active, bool subnormal = false) {
  Operands operands;
  for (std::size_t i = 0; i < form.sources.size() && i < 4; ++i)
    if (form.sources[i] != PtxType::pred) operands.fill(i, form.sources[i], subnormal);
  LaneArguments arguments;
  arguments.destination = operands.destination.bytes;
  for (std::size_t i = 0; i < 4; ++i) arguments.source[i] = operands.source[i].bytes;
  arguments.active = active;
  arguments.predicate_in = 0x55555555u;
  arguments.predicate_in_other = 0x33333333u;
  arguments.predicate_out = &operands.predicates[0];
  arguments.predicate_out_other = &operands.predicates[1];
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    constexpr int runs = 2000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) form.run(arguments);
    best = std::min(best,
                    std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / runs);
  }
  return best;
}

const LaneForm& form_of(const std::string& name, VectorUnit unit) {
  const LaneForm* form = find_lane_form(name, unit);
  KW_CHECK(form != nullptr);
  return *form;
}

}  // namespace

void report_lane_ratios() {
  fmt::print(
      "lane operations alone: the slowest common form and the median one, in ns per warp instruction; and how many "
      "times as long with subnormal numbers\n");
  for (const VectorUnit unit : available_vector_units()) {
    std::vector<std::pair<double, std::string>> times;
    for (const char* name : common_forms) times.emplace_back(nanoseconds_of(form_of(name, unit), every_lane), name);
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2].first;
    const auto with_subnormals = [&](const char* name) {
      const LaneForm& form = form_of(name, unit);
      return nanoseconds_of(form, every_lane, true) / nanoseconds_of(form, every_lane);
    };
    fmt::print(
        "{:<9} slowest / median {:>5.1f} ({} {:.1f} / {:.1f} ns)   subnormal / ordinary: add.f32 {:.1f}, mul.f32 "
        "{:.1f}, fma.rn.f32 {:.1f}, fma.rn.ftz.f32 {:.1f}, fma.rn.f64 {:.1f}\n",
        name_of(unit), times.back().first / median, times.back().second, times.back().first, median,
        with_subnormals("add.f32"), with_subnormals("mul.f32"), with_subnormals("fma.rn.f32"),
        with_subnormals("fma.rn.ftz.f32"), with_subnormals("fma.rn.f64"));
  }
}

void report_every_lane_form() {
  const std::vector<VectorUnit> units = available_vector_units();
  fmt::print("{:<40}", "ns per warp instruction, all / half the lanes");
  for (const VectorUnit unit : units) fmt::print("{:>16}", name_of(unit));
  fmt::print("\n");
  for (const std::string& name : supported_lane_forms()) {
    fmt::print("{:<45}", name);
    for (const VectorUnit unit : units) {
      const LaneForm& form = form_of(name, unit);
      fmt::print("{:>8.1f}{:>8.1f}", nanoseconds_of(form, every_lane), nanoseconds_of(form, half_the_lanes));
    }
    fmt::print("\n");
  }
}

}  // namespace kw
