#include "kernel/reference/torch/elementwise.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace kw {
namespace {

// Of namespace aten; a name that ends in an underscore is the same operation in place. Left out are those that look at
// extents (size, numel), that have a meaning for some dimension (prelu, glu), and that reduce with fewer operands
// (max).
constexpr std::string_view elementwise_aten = R"(
abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2
atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max
clamp_min clip clone contiguous copysign cos cosh deg2rad detach digamma div divide elu eq erf erfc erfinv exp exp2
expm1 fix float_power floor floor_divide fmax fmin fmod frac full_like ge gelu greater greater_equal gt hardshrink
hardsigmoid hardswish hardtanh heaviside hypot isfinite isinf isnan isneginf isposinf ldexp le leaky_relu lerp less
less_equal lgamma log log10 log1p log2 log_sigmoid logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
logit lt maximum minimum mish mul multiply nan_to_num ne neg negative not_equal ones_like positive pow rad2deg
reciprocal relu relu6 remainder round rsqrt rsub selu sgn sigmoid sign signbit silu sin sinc sinh softplus softshrink
sqrt square sub subtract tan tanh threshold to true_divide trunc type_as where xlogy zeros_like
__and__ __ilshift__ __ior__ __irshift__ __ixor__ __iand__ __lshift__ __or__ __rshift__ __xor__ FloatImplicit IntImplicit
ScalarImplicit Float Int
)";
constexpr std::string_view elementwise_prim = "Constant device dtype ListConstruct TupleConstruct unchecked_cast";

std::set<std::string, std::less<>> words(std::string_view text) {
  std::istringstream parts{std::string(text)};
  std::set<std::string, std::less<>> found;
  for (std::string word; parts >> word;) found.insert(word);
  return found;
}

bool is_elementwise(const torch::jit::Node& node) {
  static const auto aten = words(elementwise_aten), prim = words(elementwise_prim);
  std::string_view name = node.kind().toUnqualString();
  if (node.kind().is_prim()) return prim.contains(name);
  if (!node.kind().is_aten()) return false;
  // where(condition) alone gives places.
  if (name == "where") return node.inputs().size() == 3;
  if (!aten.contains(name) && name.ends_with('_')) name.remove_suffix(1);
  return aten.contains(name);
}

}  // namespace

Result<void> check_elementwise(const torch::jit::CompilationUnit& unit) {
  for (torch::jit::Function* function : unit.get_functions())
    for (const torch::jit::Node* node : torch::jit::toGraphFunction(*function).graph()->block()->nodes())
      if (!is_elementwise(*node))
        return Error{std::string(node->kind().toQualString()) + " is not known to work element by element", "", {}};
  return {};
}

}  // namespace kw
