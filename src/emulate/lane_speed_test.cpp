// ns per warp instruction of every form in every build. A test because it must keep running; the numbers are for
// people.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "emulate/lane_sample.h"

namespace kw {
namespace {

double nanoseconds_of(const LaneForm& form, std::uint32_t active) {
  std::mt19937_64 random(1);
  LaneSample sample = make_sample(form, random);
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    constexpr int runs = 300;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) run_sample(form, sample, active);
    best = std::min(best,
                    std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / runs);
  }
  return best;
}

TEST(LaneSpeedSlow, EveryForm) {
  const std::vector<VectorUnit> units = available_vector_units();
  std::printf("%-40s", "ns per warp instruction, full / half mask");
  for (const VectorUnit unit : units) std::printf("%16s", std::string(name_of(unit)).c_str());
  std::printf("\n");
  for (const std::string& name : supported_lane_forms()) {
    std::printf("%-40s", name.c_str());
    for (const VectorUnit unit : units) {
      const LaneForm* form = find_lane_form(name, unit);
      ASSERT_NE(form, nullptr) << name;
      std::printf("%8.1f%8.1f", nanoseconds_of(*form, 0xffffffffu), nanoseconds_of(*form, 0x0f0ff0f0u));
    }
    std::printf("\n");
  }
}

// The operations that fill real kernels cost a few nanoseconds on a machine with AVX2; 40 is far above what any of them
// takes.
TEST(LaneSpeedSlow, CommonFormsAreFast) {
  if (best_vector_unit() == VectorUnit::portable) GTEST_SKIP() << "no AVX2 here";
  for (const char* name : {"add.f32", "fma.rn.f32", "mul.f32", "add.s32", "mad.lo.s32", "add.s64", "mul.wide.s32",
                           "setp.lt.s32", "setp.gt.f32", "selp.f32", "selp.b32", "shl.b32", "and.b32", "cvt.s64.s32",
                           "cvt.rn.f32.s32", "cvt.u32.u64", "max.f32", "mov.f32", "mov.u64"}) {
    const LaneForm* form = find_lane_form(name, best_vector_unit());
    ASSERT_NE(form, nullptr) << name;
    EXPECT_LT(nanoseconds_of(*form, 0xffffffffu), 40) << name;
  }
}

}  // namespace
}  // namespace kw
