// No instruction is free, whatever its form.

#include <gtest/gtest.h>

#include "kernel/emulate/decode_forms.h"
#include "kernel/emulate/lane_operations.h"
#include "kernel/performance/test_plan.h"

namespace kw {
namespace {

// Each choice of each group at least once, the other groups at their first choice, or left out where they may be.
std::vector<std::string> forms_of(const InstructionForms& forms) {
  std::vector<std::string> made;
  for (const bool with_optional : {false, true}) {
    for (std::size_t varied = 0; varied <= forms.groups.size(); ++varied) {
      const std::size_t choices = varied < forms.groups.size() ? forms.groups[varied].choices.size() : 1;
      for (std::size_t choice = 0; choice < choices; ++choice) {
        std::string form = forms.opcode;
        for (std::size_t group = 0; group < forms.groups.size(); ++group) {
          const ModifierGroup& here = forms.groups[group];
          if (group != varied && here.optional && !with_optional) continue;
          form += "." + here.choices[group == varied ? choice : 0];
        }
        made.push_back(form);
      }
    }
  }
  return made;
}

std::vector<std::string> all_forms() {
  std::vector<std::string> all = supported_lane_forms();
  for (const InstructionForms& forms : instruction_forms())
    for (std::string& form : forms_of(forms)) all.push_back(std::move(form));
  return all;
}

TEST(InstructionCost, NoFormIsFree) {
  const std::vector<std::string> forms = all_forms();
  EXPECT_GT(forms.size(), 5000u);
  for (const std::string& form : forms) {
    const InstructionCost& cost = test_profile().cost_of(form);
    EXPECT_GT(cost.issue_slots, 0) << form;
    EXPECT_GT(cost.pipe_slots, 0) << form;
  }
}

TEST(InstructionCost, WhatIsManyMachineInstructionsIsNotOne) {
  for (const std::string& form : all_forms()) {
    const InstructionCost& cost = test_profile().cost_of(form);
    const bool divides = form.starts_with("div.") || form.starts_with("rem.");
    const bool approximate = form.find("approx") != std::string::npos || form.find("full") != std::string::npos;
    if (divides) {
      EXPECT_GE(cost.issue_slots, approximate ? 2 : 8) << form;
    }
    if (form.starts_with("sqrt.") && !approximate) {
      EXPECT_GE(cost.issue_slots, 5) << form;
    }
    const bool wide = form.find("64") != std::string::npos && form.find("f64") == std::string::npos;
    const bool multiplies = form.starts_with("mul.lo") || form.starts_with("mul.hi") || form.starts_with("mad.");
    if (wide && multiplies && form.find("wide") == std::string::npos) {
      EXPECT_GE(cost.issue_slots, 3) << form;
    }
  }
}

TEST(InstructionCost, SpillsCost) {
  auto time_of = [](int bytes) {
    TestPlan plan(R"(
__global__ void kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i];
  for (int k = 0; k < n; ++k) a = a * a + 1;
  y[i] = a;
}
)");
    plan.launch("kernel", {4096, 1, 1}, {256, 1, 1}, plan.input(4 << 20), plan.output(4 << 20), 1000);
    auto& launch = std::get<ProfiledLaunch>(plan.plan.steps[0]);
    launch.resources.spill_store_bytes = launch.resources.spill_load_bytes = bytes;
    return plan.time().us;
  };
  EXPECT_GT(time_of(256), 1.5 * time_of(0));
}

// The same loads again and again: volatile ones ask the L2 each time.
TEST(InstructionCost, VolatileLoadsGoPastTheL1) {
  auto bytes_of = [](const std::string& type) {
    TestPlan plan("__global__ void kernel(const " + type + R"(* x, float* y, int n) {
  float a = 0;
  for (int k = 0; k < n; ++k) a += x[threadIdx.x + (k & 3) * 32];
  y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
)");
    plan.launch("kernel", {512, 1, 1}, {256, 1, 1}, plan.input(1 << 20), plan.output(4 << 20), 64);
    return plan.time().kernels.at(0).l2_bytes;
  };
  EXPECT_GT(bytes_of("volatile float"), 8 * bytes_of("float"));
}

// A step that has touched one element has not brought the array into the L2.
TEST(InstructionCost, OneTouchedElementIsNotACachedArray) {
  const std::string source = R"(
__global__ void touch(const float* x, float* y) { y[0] = x[0]; }
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)";
  const int n = 1 << 21;
  auto bytes_of = [&](bool touched) {
    TestPlan plan(source);
    const std::uint64_t x = plan.input(4ull * n), y = plan.output(4ull * n), z = plan.output(4096);
    if (touched) plan.launch("touch", {1, 1, 1}, {1, 1, 1}, x, z);
    plan.launch("copy", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1}, x, y, n);
    return plan.time().kernels.back().dram_bytes;
  };
  EXPECT_NEAR(bytes_of(true), bytes_of(false), 1e4);
}

}  // namespace
}  // namespace kw
