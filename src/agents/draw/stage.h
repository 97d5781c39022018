#pragma once
// Families of stages. A file stages_NAME.cpp defines `std::span<const Family> stages_NAME()`; the build finds it by its
// name (CMakeLists.txt), so that a family more is a file more, and no list anywhere else.

#include <span>
#include <string_view>

#include "agents/draw/draft.h"

namespace kw::programs {

struct Family {
  std::string_view name;
  int weight = 1;      // how often it is drawn, beside the others
  bool novel = false;  // held out: never drawn for training
  // What it may stand behind: rank, type, divisibility. nullptr: it only begins programs.
  bool (*fits)(const Value& x) = nullptr;
  // Its text, from `x`; the result.
  Value (*draw)(Draft& draft, const Value& x) = nullptr;
  // The input it begins with; nullptr: a tensor of any rank that fits.
  Value (*start)(Draft& draft) = nullptr;
};

std::span<const Family* const> all_families();
const Family* family_named(std::string_view name);

// Element-wise text around other stages: one to three operations.
Value draw_expression(Draft& draft, const Value& x);

}  // namespace kw::programs
