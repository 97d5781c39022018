#pragma once
// A reading's declarations as parts that can be left out, each with the names that make it needed.

#include <string_view>
#include <unordered_set>
#include <vector>

#include "kernel/source/needed_source.h"
#include "kernel/source/rules_reading.h"

namespace kw {

struct Unit {
  enum class Needed : std::uint8_t {
    always,      // the launcher, and what nobody can say anything about
    when_named,  // one of `any` and all of `all` are mentioned
    never,       // what only a missing header could give a meaning, and requests to compile a template
    if_whole,    // static_assert: when everything that it mentions stays
  };
  std::size_t first = 0;  // tokens
  std::size_t last = 0;   // inclusive
  TextRange range;
  Needed needed = Needed::always;
  std::vector<std::string_view> any;  // empty: no condition
  std::vector<std::string_view> all;
};

// In order; no two overlap in tokens.
std::vector<Unit> find_units(const Reading& reading);

// Functions that C++ calls without their name: begin and end of a loop, operators.
bool is_called_unnamed(std::string_view name);

}  // namespace kw
