#include "kernel/reference/check_reference.h"

#include "kernel/reference/reference.h"
#include "kernel/task/input_values.h"

namespace kw {

Result<void> check_reference(const Task& task) {
  constexpr std::uint64_t seed = 1;
  KW_TRY(const auto reference, make_reference(task));
  for (const Sizes& sizes : task.sizes_small) {
    KW_TRY(const auto inputs, make_inputs(task, sizes, seed));
    for (const Precision precision : {Precision::truth, Precision::task_dtype}) {
      KW_TRY([[maybe_unused]] const auto outputs, reference->run(inputs, sizes, precision));
    }
  }
  return {};
}

}  // namespace kw
