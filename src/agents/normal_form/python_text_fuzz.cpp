// Arbitrary bytes as a task's PyTorch text: understood or not, within the limits, and the normal form can be made
// again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "agents/normal_form/normal_form.h"
#include "agents/program/python_text.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = kw::parse_python(text)) {
    KW_CHECK(!parsed->results.empty() && parsed->nodes.size() <= kw::PythonLimits{}.nodes);
    for (std::size_t i = 0; i < parsed->nodes.size(); ++i)
      for (const int part : parsed->nodes[i].parts) KW_CHECK(part < static_cast<int>(i));
  }
  kw::Task task;
  task.pytorch = text.starts_with("def ") ? text : "def reference(x, w, s):\n" + text;
  const auto extent = [](const char* name) { return kw::Expression::parse(name).value(); };
  task.inputs = {{"x", kw::Dtype::float32, {extent("rows"), extent("cols")}, {}},
                 {"w", kw::Dtype::float32, {extent("cols")}, {}},
                 {"s", kw::Dtype::float32, {}, {}}};
  task.outputs = {{"y", kw::Dtype::float32, {extent("rows"), extent("cols")}, {}}};
  task.size_names = {"rows", "cols"};
  task.sizes_small = {{{"rows", 3}, {"cols", 5}}};
  const kw::NormalForm once = kw::normal_form(task);
  KW_CHECK(once.task.inputs.size() == task.inputs.size());
  const kw::NormalForm twice = kw::normal_form(once.task);
  KW_CHECK(twice.task.pytorch.size() <= (std::size_t{64} << 10) || !once.changed);
  return 0;
}
