// Arbitrary bytes as a task file: an error or a task whose inputs can be made, never a crash.
#include <cstdint>

#include "kernel/task/input_values.h"
#include "kernel/task/task_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto task = kw::parse_task(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (!task.ok()) return 0;
  (void)task->launcher_declaration();
  for (const kw::Sizes& sizes : task->sizes_small) {
    std::int64_t elements = 0;
    for (const kw::TensorSpec& input : task->inputs) elements += *input.elements_at(sizes);
    if (elements < 10000) (void)kw::make_inputs(*task, sizes, 1);
  }
  return 0;
}
