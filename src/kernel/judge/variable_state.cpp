#include "kernel/judge/variable_state.h"

namespace kw {
namespace {

bool is_variable(const Allocation& allocation) { return allocation.name.rfind("__device__ ", 0) == 0; }

}  // namespace

VariableState::VariableState(const DeviceMemory& memory, WorkBudget* budget) : held_(budget) {
  for (const auto& allocation : memory.allocations()) {
    if (!is_variable(*allocation) || !held_.add(allocation->bytes)) continue;
    variables_.emplace_back(allocation->index,
                            std::string(reinterpret_cast<const char*>(allocation->data.get()), allocation->bytes));
  }
}

std::uint64_t VariableState::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [index, content] : variables_) sum += content.size();
  return sum;
}

bool VariableState::forget_changes(const DeviceMemory& memory) const {
  bool changed = false;
  for (const auto& [index, content] : variables_) {
    Allocation& allocation = *memory.allocations()[static_cast<std::size_t>(index)];
    for (std::size_t i = 0; i < content.size(); ++i) {
      if (static_cast<char>(allocation.data[i]) == content[i]) continue;
      allocation.defined[i] = std::byte{0};
      allocation.fully_defined = false;
      changed = true;
    }
  }
  return changed;
}

}  // namespace kw
