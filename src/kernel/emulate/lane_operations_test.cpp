#include "kernel/emulate/lane_operations.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "kernel/emulate/lane_oracle.h"
#include "kernel/emulate/lane_sample.h"

namespace kw {
namespace {

PtxInstruction instruction(const std::string& opcode, std::vector<std::string> modifiers, std::size_t operands) {
  PtxInstruction made;
  made.opcode = opcode;
  made.modifiers = std::move(modifiers);
  made.operands.resize(operands);
  return made;
}

int lane_bytes(const std::string& name, const LaneForm& form) {
  return name.find("@d8") != std::string::npos || has_wide_lanes(form.destination) ? 8 : 4;
}

// The register of a source may be wider than its type: cvt.s64.s8@s8.
PtxType source_type(const std::string& name, const LaneForm& form, std::size_t i) {
  return i == 0 && name.find('@') != std::string::npos && name.ends_with("s8") ? PtxType::u64 : form.sources[i];
}

oracle::Operands operands_of(const std::string& name, const LaneForm& form, const LaneSample& sample, int lane) {
  oracle::Operands operands;
  for (std::size_t i = 0; i < form.sources.size() && i < 4; ++i) {
    if (form.sources[i] != PtxType::pred)
      operands.value[i] = lane_value(sample.source[i], source_type(name, form, i), lane);
  }
  operands.predicate = ((sample.predicate_in >> lane) & 1) != 0;
  operands.predicate_other = ((sample.predicate_in_other >> lane) & 1) != 0;
  return operands;
}

double as_double(PtxType type, std::uint64_t bits) {
  if (type == PtxType::f64) return std::bit_cast<double>(bits);
  if (type == PtxType::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == PtxType::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const double magnitude = (bits & 0x7c00) == 0
                               ? std::ldexp(bits & 0x3ff, -24)
                               : std::ldexp((bits & 0x3ff) + 0x400, static_cast<int>((bits >> 10) & 31) - 25);
  if ((bits & 0x7c00) == 0x7c00)
    return (bits & 0x3ff) != 0 ? std::nan("") : (bits & 0x8000) != 0 ? -HUGE_VAL : HUGE_VAL;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool agrees(const LaneForm& form, std::uint64_t actual, const oracle::Outcome& outcome) {
  if (actual == *outcome.value) return true;
  if (outcome.tolerance == 0) return false;
  const PtxType type = form.destination;
  if (type == PtxType::f16x2 || type == PtxType::bf16x2) {
    LaneForm half = form;
    half.destination = type == PtxType::f16x2 ? PtxType::f16 : PtxType::bf16;
    oracle::Outcome low = outcome, high = outcome;
    low.value = *outcome.value & 0xffff;
    high.value = *outcome.value >> 16;
    return agrees(half, actual & 0xffff, low) && agrees(half, actual >> 16, high);
  }
  const double a = as_double(type, actual), b = as_double(type, *outcome.value);
  const double smallest = type == PtxType::f16    ? 0x1p-24
                          : type == PtxType::bf16 ? 0x1p-133
                          : type == PtxType::f32  ? 0x1p-149
                                                  : 0x1p-1074;
  return std::abs(a - b) <= outcome.tolerance * std::abs(b) + outcome.absolute_tolerance + smallest;
}

// One message per form, with the first disagreement.
std::string disagreement(const std::string& name, VectorUnit unit, int warps, std::uint64_t seed) {
  const LaneForm& form = *find_lane_form(name, unit);
  const oracle::Form parsed = oracle::parse_form(name);
  std::mt19937_64 random(seed ^ std::hash<std::string>{}(name));
  for (int warp = 0; warp < warps; ++warp) {
    const LaneSample before = make_sample(form, random);
    LaneSample after = before;
    const std::uint32_t active = warp % 3 == 0 ? 0xffffffffu : static_cast<std::uint32_t>(random());
    run_sample(form, after, active);
    for (int lane = 0; lane < 32; ++lane) {
      const PtxType slot = lane_bytes(name, form) == 8 ? PtxType::u64 : PtxType::u32;
      const std::uint64_t value = lane_value(after.destination, slot, lane);
      const bool p = ((after.predicate_out >> lane) & 1) != 0, q = ((after.predicate_out_other >> lane) & 1) != 0;
      auto report = [&](const char* what, std::uint64_t actual, std::uint64_t wanted) {
        char text[300];
        const oracle::Operands o = operands_of(name, form, before, lane);
        std::snprintf(text, sizeof text, "%s of %s on %s: (%llx, %llx, %llx, %llx, %d %d) gave %llx, expected %llx",
                      what, name.c_str(), std::string(name_of(unit)).c_str(),
                      static_cast<unsigned long long>(o.value[0]), static_cast<unsigned long long>(o.value[1]),
                      static_cast<unsigned long long>(o.value[2]), static_cast<unsigned long long>(o.value[3]),
                      o.predicate, o.predicate_other, static_cast<unsigned long long>(actual),
                      static_cast<unsigned long long>(wanted));
        return std::string(text);
      };
      if (((active >> lane) & 1) == 0) {
        if (value != lane_value(before.destination, slot, lane))
          return report("an inactive lane", value, lane_value(before.destination, slot, lane));
        if (((before.predicate_out ^ after.predicate_out) >> lane & 1) != 0)
          return report("an inactive predicate", p, !p);
        if (((before.predicate_out_other ^ after.predicate_out_other) >> lane & 1) != 0)
          return report("an inactive predicate", q, !q);
        continue;
      }
      const std::optional<oracle::Outcome> outcome = oracle::expected(parsed, operands_of(name, form, before, lane));
      if (!outcome) return name + ": the oracle does not know it";
      if (outcome->value.has_value() != (form.destination != PtxType::pred)) return name + ": destination";
      if (outcome->value && !agrees(form, value, *outcome)) return report("result", value, *outcome->value);
      if (outcome->predicate && p != *outcome->predicate) return report("predicate", p, *outcome->predicate);
      if (outcome->predicate_other && q != *outcome->predicate_other)
        return report("second predicate", q, *outcome->predicate_other);
    }
  }
  return "";
}

TEST(LaneOperations, EveryFormAgreesWithTheOracle) {
  for (const std::string& name : supported_lane_forms()) {
    EXPECT_EQ(disagreement(name, best_vector_unit(), 3, 7), "");
  }
}

TEST(LaneOperationsSlow, EveryFormAgreesWithTheOracleOnManyValues) {
  for (const VectorUnit unit : {best_vector_unit(), VectorUnit::portable}) {
    for (const std::string& name : supported_lane_forms()) EXPECT_EQ(disagreement(name, unit, 50, 11), "");
  }
}

// The three builds, bit by bit: full and partial masks, on many more values than the oracle could take.
void expect_equal_units(int warps) {
  const std::vector<VectorUnit> units = available_vector_units();
  for (const std::string& name : supported_lane_forms()) {
    const LaneForm& portable = *find_lane_form(name, VectorUnit::portable);
    std::mt19937_64 random(3 ^ std::hash<std::string>{}(name));
    for (int warp = 0; warp < warps; ++warp) {
      const LaneSample before = make_sample(portable, random);
      const std::uint32_t active = warp % 2 == 0 ? 0xffffffffu : static_cast<std::uint32_t>(random());
      LaneSample expected = before;
      run_sample(portable, expected, active);
      for (const VectorUnit unit : units) {
        LaneSample actual = before;
        run_sample(*find_lane_form(name, unit), actual, active);
        ASSERT_EQ(std::memcmp(actual.destination.bytes, expected.destination.bytes, sizeof actual.destination.bytes), 0)
            << name << " " << name_of(unit);
        ASSERT_EQ(actual.predicate_out, expected.predicate_out) << name << " " << name_of(unit);
        ASSERT_EQ(actual.predicate_out_other, expected.predicate_out_other) << name << " " << name_of(unit);
      }
    }
  }
}
TEST(LaneOperations, UnitsAreBitEqual) { expect_equal_units(20); }
TEST(LaneOperationsSlow, UnitsAreBitEqualOnManyValues) { expect_equal_units(400); }

// All 65,536 values of the unary f16 and bf16 forms, and of those from 8-bit pairs.
TEST(LaneOperationsSlow, SixteenBitFormsExhaustively) {
  int checked = 0;
  for (const std::string& name : supported_lane_forms()) {
    const LaneForm& form = *find_lane_form(name, best_vector_unit());
    const bool half = form.sources.size() == 1 && (form.sources[0] == PtxType::f16 ||
                                                   form.sources[0] == PtxType::bf16 || form.sources[0] == PtxType::b16);
    if (!half || name.find('@') != std::string::npos || form.destination == PtxType::pred) continue;
    const oracle::Form parsed = oracle::parse_form(name);
    LaneSample sample;
    int wrong = 0;
    for (std::uint32_t base = 0; base < 65536 && wrong == 0; base += 32) {
      for (int lane = 0; lane < 32; ++lane)
        set_lane_value(sample.source[0], PtxType::u32, lane, base + static_cast<std::uint32_t>(lane));
      run_sample(form, sample, 0xffffffffu);
      for (int lane = 0; lane < 32; ++lane) {
        oracle::Operands operands;
        operands.value[0] = base + static_cast<std::uint32_t>(lane);
        const std::uint64_t actual = lane_value(sample.destination, form.destination, lane);
        const oracle::Outcome outcome = *oracle::expected(parsed, operands);
        if (agrees(form, actual, outcome)) continue;
        ADD_FAILURE() << name << " of " << std::hex << operands.value[0] << " gave " << actual << ", expected "
                      << *outcome.value;
        ++wrong;
        break;
      }
    }
    ++checked;
  }
  EXPECT_GT(checked, 80);
}

// A million random pairs or triples for the f16 and bf16 arithmetic.
TEST(LaneOperationsSlow, SixteenBitArithmeticOnAMillionValues) {
  for (const char* name :
       {"add.f16", "mul.f16", "sub.bf16", "mul.bf16", "fma.rn.f16", "fma.rn.bf16", "mul.ftz.f16", "fma.rn.ftz.f16"}) {
    const LaneForm& form = *find_lane_form(name, best_vector_unit());
    const oracle::Form parsed = oracle::parse_form(name);
    std::mt19937_64 random(5);
    LaneSample sample;
    for (int warp = 0; warp < 31250; ++warp) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (int lane = 0; lane < 32; ++lane)
          set_lane_value(sample.source[i], PtxType::u32, lane,
                         lane % 2 == 0 ? random() & 0xffff : sample_value(form.sources[0], random));
      }
      run_sample(form, sample, 0xffffffffu);
      for (int lane = 0; lane < 32; ++lane) {
        const oracle::Operands operands = operands_of(name, form, sample, lane);
        ASSERT_EQ(lane_value(sample.destination, form.destination, lane), *oracle::expected(parsed, operands)->value)
            << name << std::hex << " " << operands.value[0] << " " << operands.value[1] << " " << operands.value[2];
      }
    }
  }
}

TEST(LaneOperations, DestinationMayBeASource) {
  for (const std::string& name : supported_lane_forms()) {
    for (const VectorUnit unit : available_vector_units()) {
      const LaneForm& form = *find_lane_form(name, unit);
      std::mt19937_64 random(9);
      const LaneSample before = make_sample(form, random);
      for (std::size_t i = 0; i < form.sources.size() && i < 4; ++i) {
        if (form.sources[i] == PtxType::pred || form.destination == PtxType::pred ||
            has_wide_lanes(form.sources[i]) != has_wide_lanes(form.destination))
          continue;
        if (name.find('@') != std::string::npos) continue;
        LaneSample apart = before, together = before;
        apart.destination = before.source[i];
        const std::uint32_t active = static_cast<std::uint32_t>(random()) | 1;
        run_sample(form, apart, active);
        LaneArguments arguments;
        arguments.destination = together.source[i].bytes;
        for (std::size_t k = 0; k < 4; ++k) arguments.source[k] = together.source[k].bytes;
        arguments.active = active;
        arguments.predicate_in = together.predicate_in;
        arguments.predicate_out = &together.predicate_out;
        form.run(arguments);
        EXPECT_EQ(std::memcmp(apart.destination.bytes, together.source[i].bytes,
                              has_wide_lanes(form.destination) ? 256 : 128),
                  0)
            << name << " source " << i;
      }
    }
  }
}

TEST(LaneOperations, LookupReadsModifiersInAnyOrder) {
  const VectorUnit unit = VectorUnit::portable;
  const LaneForm* add = find_lane_form(instruction("add", {"rn", "ftz", "sat", "f32"}, 3), unit);
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add, find_lane_form("add.rn.ftz.sat.f32", unit));
  EXPECT_EQ(add, find_lane_form(instruction("add", {"sat", "ftz", "rn", "f32"}, 3), unit));
  EXPECT_EQ(find_lane_form(instruction("add", {"f32"}, 3), unit)->run, find_lane_form("add.rn.f32", unit)->run);
  EXPECT_NE(find_lane_form("cvt.rn.f16.f32", unit), find_lane_form("cvt.f32.f16", unit));
  EXPECT_EQ(find_lane_form("add.rn.u32", unit), nullptr);
  EXPECT_EQ(find_lane_form("", unit), nullptr);
  EXPECT_EQ(find_lane_form("ld.global.f32", unit), nullptr);
  EXPECT_EQ(find_lane_form(instruction("min", {"f32"}, 3), unit), find_lane_form("min.f32", unit));
  EXPECT_EQ(find_lane_form(instruction("min", {"f32"}, 4), unit), find_lane_form("min3.f32", unit));
}

TEST(LaneOperations, WideRegistersOfConversions) {
  const VectorUnit unit = VectorUnit::portable;
  const PtxInstruction widen = instruction("cvt", {"s64", "s8"}, 2);
  EXPECT_EQ(find_lane_form(widen, unit), find_lane_form("cvt.s64.s8", unit));
  EXPECT_EQ(find_lane_form(widen, unit, {8, 2}), find_lane_form("cvt.s64.s8", unit));
  EXPECT_EQ(find_lane_form(widen, unit, {8, 4}), find_lane_form("cvt.s64.s8", unit));
  EXPECT_EQ(find_lane_form(widen, unit, {8, 8}), find_lane_form("cvt.s64.s8@s8", unit));
  const PtxInstruction narrow = instruction("cvt", {"s8", "s32"}, 2);
  EXPECT_EQ(find_lane_form(narrow, unit, {2, 4}), find_lane_form("cvt.s8.s32", unit));
  EXPECT_EQ(find_lane_form(narrow, unit, {4, 4}), find_lane_form("cvt.s8.s32@d4", unit));
  EXPECT_EQ(find_lane_form(narrow, unit, {8, 8}), find_lane_form("cvt.s8.s32@d8s8", unit));
  EXPECT_EQ(find_lane_form(instruction("cvt", {"u8", "u32"}, 2), unit, {4, 4}), find_lane_form("cvt.u8.u32", unit));
}

TEST(LaneOperations, SignaturesNameOperands) {
  const VectorUnit unit = VectorUnit::portable;
  EXPECT_EQ(find_lane_form("selp.f32", unit)->sources.back(), PtxType::pred);
  EXPECT_EQ(find_lane_form("setp.lt.and.s32", unit)->sources,
            (std::vector<PtxType>{PtxType::s32, PtxType::s32, PtxType::pred}));
  EXPECT_EQ(find_lane_form("setp.lt.s32", unit)->destination, PtxType::pred);
  EXPECT_EQ(find_lane_form("mul.wide.s32", unit)->destination, PtxType::s64);
  EXPECT_TRUE(find_lane_form("addc.cc.u32", unit)->carry_in);
  EXPECT_TRUE(find_lane_form("add.cc.u32", unit)->carry_out);
  EXPECT_FALSE(find_lane_form("add.cc.u32", unit)->carry_in);
  EXPECT_TRUE(find_lane_form("lop3.and.b32", unit)->predicate_result);
}

TEST(LaneOperations, EveryUnitHasEveryForm) {
  const std::vector<std::string> names = supported_lane_forms();
  EXPECT_GT(names.size(), 4000u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const std::string& name : names) {
    for (const VectorUnit unit : available_vector_units()) EXPECT_NE(find_lane_form(name, unit), nullptr) << name;
  }
}

}  // namespace
}  // namespace kw
