#pragma once
// Mistakes that people make, put into a kernel that is right. Whether the result is really wrong is for the judge to
// say.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace kw {

struct Mutant {
  std::string kind;    // "missing_barrier"
  std::string kernel;  // CUDA text
};

// Names of all kinds of mistakes.
std::vector<std::string_view> mutation_kinds();

// Puts one mistake of the kind at a random place where it fits; nothing when there is none.
std::optional<Mutant> mutate(std::string_view kernel, std::string_view kind, Random& random);
// A mistake of a random kind.
std::optional<Mutant> mutate(std::string_view kernel, Random& random);

}  // namespace kw
