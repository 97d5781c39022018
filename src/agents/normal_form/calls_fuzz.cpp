// Calls of everything that is known, with whatever arguments the bytes choose: none, too many, of any rank, named or
// not. What comes of them must be understood or left alone.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agents/normal_form/normal_form.h"
#include "base/check.h"

namespace {

constexpr std::array<std::string_view, 96> functions{"relu",         "sigmoid",    "gelu",
                                                     "elu",          "softplus",   "leaky_relu",
                                                     "relu6",        "hardtanh",   "softsign",
                                                     "logsigmoid",   "log",        "add",
                                                     "sub",          "mul",        "div",
                                                     "maximum",      "fmin",       "pow",
                                                     "clamp",        "clip",       "clamp_min",
                                                     "clamp_max",    "where",      "lerp",
                                                     "addcmul",      "addcdiv",    "sum",
                                                     "mean",         "amax",       "logsumexp",
                                                     "argmax",       "max",        "min",
                                                     "var",          "norm",       "vector_norm",
                                                     "dot",          "softmax",    "log_softmax",
                                                     "layer_norm",   "rms_norm",   "normalize",
                                                     "cumsum",       "cummax",     "pad",
                                                     "contiguous",   "t",          "transpose",
                                                     "swapaxes",     "permute",    "tril",
                                                     "unsqueeze",    "view",       "reshape",
                                                     "index_select", "gather",     "take_along_dim",
                                                     "embedding",    "index_add",  "einsum",
                                                     "matmul",       "mm",         "bmm",
                                                     "mv",           "linear",     "addmm",
                                                     "baddbmm",      "conv1d",     "conv2d",
                                                     "max_pool1d",   "max_pool2d", "avg_pool1d",
                                                     "avg_pool2d",   "mse_loss",   "l1_loss",
                                                     "size",         "float",      "int",
                                                     "to",           "type_as",    "long",
                                                     "masked_fill",  "triu",       "ones",
                                                     "ones_like",    "zeros_like", "chunk",
                                                     "sqrt",         "exp",        "square",
                                                     "rsqrt",        "abs",        "neg",
                                                     "batch_norm",   "cat",        "expand"};
constexpr std::array<std::string_view, 40> arguments{"x",
                                                     "w",
                                                     "s",
                                                     "image",
                                                     "filters",
                                                     "ids",
                                                     "table",
                                                     "signal",
                                                     "0",
                                                     "1",
                                                     "-1",
                                                     "2",
                                                     "-2",
                                                     "3",
                                                     "0.5",
                                                     "1e-5",
                                                     "1e30",
                                                     "None",
                                                     "True",
                                                     "False",
                                                     "[0]",
                                                     "[]",
                                                     "[1, 0]",
                                                     "[2, 3]",
                                                     "(0, 2, 1)",
                                                     "\"tanh\"",
                                                     "\"sum\"",
                                                     "\"ij,jk->ik\"",
                                                     "\"bij,bkj->bik\"",
                                                     "\",->\"",
                                                     "dim=-1",
                                                     "dim=0",
                                                     "keepdim=True",
                                                     "reduction=\"none\"",
                                                     "eps=1e-6",
                                                     "input=x",
                                                     "alpha=2",
                                                     "torch.float32",
                                                     "x.size(-1)",
                                                     "x > 0"};
constexpr std::array<std::string_view, 6> behind{"", "[0]", ".values", "[:, None]", ".T", " + x"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::size_t at = 0;
  const auto next = [&](std::size_t bound) { return at < size ? data[at++] % bound : std::size_t{0}; };
  std::string text = "def reference(x, w, s, image, filters, ids, table, signal):\n";
  int locals = 0;
  while (at < size && locals < 6) {
    const std::size_t form = next(3);
    const std::string_view name = functions[next(functions.size())];
    std::string call = form == 0 ? "torch." : form == 1 ? "F." : std::string(arguments[next(8)]) + ".";
    call += std::string(name) + "(";
    const std::size_t count = next(6);
    for (std::size_t i = 0; i < count; ++i) {
      // A value that was made before, or one of the list.
      const std::size_t which = next(arguments.size() + 8);
      const bool made = which >= arguments.size() && locals > 0;
      call += (i == 0 ? "" : ", ") + (made ? "t" + std::to_string(which % static_cast<std::size_t>(locals))
                                           : std::string(arguments[which % arguments.size()]));
    }
    call += ")" + std::string(behind[next(behind.size())]);
    text += "    t" + std::to_string(locals++) + " = " + call + "\n";
  }
  text += locals == 0 ? "    return x\n" : "    return t" + std::to_string(locals - 1) + "\n";

  kw::Task task;
  task.pytorch = text;
  const auto tensor = [](const char* name, std::initializer_list<const char*> shape, kw::Dtype dtype) {
    kw::TensorSpec spec{name, dtype, {}, {}};
    for (const char* extent : shape) spec.shape.push_back(kw::Expression::parse(extent).value());
    return spec;
  };
  const auto real = kw::Dtype::float32;
  task.inputs = {tensor("x", {"rows", "cols"}, real),
                 tensor("w", {"cols"}, real),
                 tensor("s", {}, real),
                 tensor("image", {"batch", "channels", "height", "width"}, real),
                 tensor("filters", {"outs", "channels", "3", "3"}, real),
                 tensor("ids", {"rows"}, kw::Dtype::int32),
                 tensor("table", {"cols", "rows"}, real),
                 tensor("signal", {"batch", "channels", "rows"}, real)};
  task.outputs = {tensor("y", {"rows", "cols"}, real)};
  task.size_names = {"rows", "cols", "batch", "channels", "height", "width", "outs"};
  kw::Sizes sizes;
  for (const std::string& name : task.size_names) sizes[name] = 3 + static_cast<std::int64_t>(sizes.size());
  task.sizes_small = {sizes};
  const kw::NormalForm form = kw::normal_form(task);
  KW_CHECK(form.task.inputs.size() == task.inputs.size());
  KW_CHECK(form.places.empty() || form.places.size() + form.named_extents.size() + 1 == form.task.parameters().size());
  KW_CHECK(form.task.parameters().size() == task.parameters().size() + form.named_extents.size());
  return 0;
}
