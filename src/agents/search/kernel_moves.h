#pragma once
// The next change of a kernel. Of its constants: one at a time, the nearest values first, and now and then two at once,
// because a good tile is rarely found by changing one side of it. Or a small edit.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agents/search/candidate.h"
#include "base/random.h"

namespace kw {

// How changes of a constant of this name went. One that never gives a right kernel is left alone: it is a part of the
// algorithm, whatever it looks like.
struct ConstantRecord {
  int tried = 0;
  int right = 0;
  bool hopeless() const { return tried >= 4 && right == 0; }
};
using ConstantRecords = std::map<std::string, ConstantRecord>;

struct KernelMove {
  std::string kernel;
  std::string change;              // "tile 64 -> 128"
  std::vector<std::string> names;  // of what was changed: constants, or kinds of edits
};
using KnownKernel = std::function<bool(const std::string& kernel)>;

// None: everything that it would propose is known already. `known`: of a kernel's text.
std::optional<KernelMove> next_constant_move(const std::string& kernel, const ConstantRecords& records,
                                             const KnownKernel& known, Random& random);
// One of the small edits that agents/agent/kernel_edits.h knows, drawn at random.
std::optional<KernelMove> next_edit(const std::string& kernel, const KnownKernel& known, Random& random);

}  // namespace kw
