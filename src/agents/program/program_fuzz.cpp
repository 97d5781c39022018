// Arbitrary bytes as a task's PyTorch text: a graph within its limits, or an error; what is understood can be written.

#include <cstddef>
#include <cstdint>
#include <string>

#include "agents/program/read_program.h"
#include "agents/program/write_program.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  kw::Task task;
  task.pytorch = text.starts_with("def ") ? text : "def reference(x, w, s):\n" + text;
  const auto extent = [](const char* name) { return kw::Expression::parse(name).value(); };
  task.inputs = {{"x", kw::Dtype::float32, {extent("rows"), extent("cols")}, {}},
                 {"w", kw::Dtype::float32, {extent("cols")}, {}},
                 {"s", kw::Dtype::float32, {}, {}}};
  task.outputs = {{"y", kw::Dtype::float32, {extent("rows"), extent("cols")}, {}}};
  task.size_names = {"rows", "cols"};
  task.sizes_small = task.sizes_train = {{{"rows", 3}, {"cols", 5}}};
  const auto graph = kw::program::read_program(task);
  if (!graph.ok()) {
    KW_CHECK(!graph.error().message.empty());
    return 0;
  }
  KW_CHECK(graph->outputs.size() == 1 && graph->node_count() <= graph->limits.nodes);
  const auto kernel = kw::program::write_program(task, *graph);
  KW_CHECK(!kernel.ok() || kernel->find("extern \"C\" void launch(") != std::string::npos);
  return 0;
}
