#include "agents/draw/stage.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace kw::programs {

#define KW_STAGES(name) std::span<const Family> name();
#include "stage_files.inc"
#undef KW_STAGES

namespace {

std::vector<const Family*> collect() {
  std::vector<const Family*> made;
  const auto add = [&](std::span<const Family> families) {
    for (const Family& each : families) made.push_back(&each);
  };
#define KW_STAGES(name) add(name());
#include "stage_files.inc"
#undef KW_STAGES
  std::sort(made.begin(), made.end(), [](const Family* a, const Family* b) { return a->name < b->name; });
  const auto twice =
      std::adjacent_find(made.begin(), made.end(), [](const Family* a, const Family* b) { return a->name == b->name; });
  KW_CHECK(twice == made.end());
  return made;
}

}  // namespace

std::span<const Family* const> all_families() {
  static const std::vector<const Family*> families = collect();
  return families;
}

const Family* family_named(std::string_view name) {
  const auto families = all_families();
  const auto found =
      std::find_if(families.begin(), families.end(), [&](const Family* each) { return each->name == name; });
  return found == families.end() ? nullptr : *found;
}

}  // namespace kw::programs
