#include "kernel/reference/torch/script_names.h"

#include <cmath>
#include <limits>
#include <map>

namespace kw {
namespace {

using torch::jit::BuiltinFunction;
using torch::jit::CompilationUnit;
using torch::jit::Graph;
using torch::jit::GraphFunction;
using torch::jit::SimpleValue;
using torch::jit::SourceRange;
using torch::jit::SugaredValue;
using SugaredValuePtr = std::shared_ptr<SugaredValue>;

// torch.nn.functional's functions that are Python on top of ATen, with Python's signatures. Only the arguments that a
// reference needs.
constexpr const char* functional_source = R"SCRIPT(
def _reduced(loss, reduction: str):
    if reduction == 'none':
        return loss
    if reduction == 'sum':
        return loss.sum()
    return loss.mean()

def normalize(input, p: float = 2.0, dim: int = 1, eps: float = 1e-12):
    return input / input.norm(p, [dim], True).clamp_min(eps).expand_as(input)

def mse_loss(input, target, reduction: str = 'mean'):
    return _reduced((input - target) * (input - target), reduction)

def l1_loss(input, target, reduction: str = 'mean'):
    return _reduced((input - target).abs(), reduction)

def smooth_l1_loss(input, target, reduction: str = 'mean', beta: float = 1.0):
    d = (input - target).abs()
    return _reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)

def huber_loss(input, target, reduction: str = 'mean', delta: float = 1.0):
    d = (input - target).abs()
    return _reduced(torch.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)

def kl_div(input, target, reduction: str = 'mean', log_target: bool = False):
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = torch.xlogy(target, target) - target * input
    if reduction == 'batchmean':
        return loss.sum() / input.size(0)
    return _reduced(loss, reduction)

def nll_loss(input, target, reduction: str = 'mean'):
    picked = -input.gather(1, target.long().unsqueeze(1)).squeeze(1)
    return _reduced(picked, reduction)

def cross_entropy(input, target, reduction: str = 'mean', label_smoothing: float = 0.0):
    logp = torch.log_softmax(input, 1)
    picked = -logp.gather(1, target.long().unsqueeze(1)).squeeze(1)
    if label_smoothing > 0.0:
        picked = (1.0 - label_smoothing) * picked - label_smoothing * logp.mean(1)
    return _reduced(picked, reduction)

def binary_cross_entropy(input, target, reduction: str = 'mean'):
    loss = -(target * input.log().clamp_min(-100.0) + (1.0 - target) * (1.0 - input).log().clamp_min(-100.0))
    return _reduced(loss, reduction)

def binary_cross_entropy_with_logits(input, target, reduction: str = 'mean'):
    loss = (1.0 - target) * input + torch.clamp_min(-input, 0.0) + torch.log1p(torch.exp(-input.abs()))
    return _reduced(loss, reduction)

def lp_pool2d(input, norm_type: float, kernel_size: BroadcastingList2[int], stride: BroadcastingList2[int]):
    out = torch.avg_pool2d(input.pow(norm_type), kernel_size, stride)
    return (torch.sign(out) * torch.relu(out.abs())).mul(kernel_size[0] * kernel_size[1]).pow(1.0 / norm_type)

def batch_norm(input, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5):
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)

def instance_norm(input, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None,
                  weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5):
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)

def embedding(input, weight):
    return torch.embedding(weight, input)

def logsigmoid(input):
    return torch.log_sigmoid(input)

def unfold(input, kernel_size: BroadcastingList2[int], dilation: List[int] = [1, 1], padding: List[int] = [0, 0],
           stride: List[int] = [1, 1]):
    return torch.im2col(input, kernel_size, dilation, padding, stride)

def softmin(input, dim: int):
    return torch.softmax(-input, dim)

def tanhshrink(input):
    return input - torch.tanh(input)

def softsign(input):
    return input / (input.abs() + 1.0)

def dropout(input, p: float = 0.5, training: bool = False):
    assert not training, 'a reference must not draw random numbers'
    return input
)SCRIPT";

SugaredValuePtr builtin(const std::string& name) {
  return std::make_shared<BuiltinFunction>(c10::Symbol::aten(name), c10::nullopt);
}

const std::map<std::string, c10::ScalarType>& dtype_constants() {
  static const std::map<std::string, c10::ScalarType> constants = {
      {"float64", c10::kDouble}, {"double", c10::kDouble}, {"float32", c10::kFloat},     {"float", c10::kFloat},
      {"float16", c10::kHalf},   {"half", c10::kHalf},     {"bfloat16", c10::kBFloat16}, {"int64", c10::kLong},
      {"long", c10::kLong},      {"int32", c10::kInt},     {"int", c10::kInt},           {"int16", c10::kShort},
      {"short", c10::kShort},    {"int8", c10::kChar},     {"uint8", c10::kByte},        {"bool", c10::kBool}};
  return constants;
}

const std::map<std::string, double>& number_constants() {
  static const std::map<std::string, double> constants = {{"pi", M_PI},
                                                          {"e", M_E},
                                                          {"tau", 2 * M_PI},
                                                          {"inf", std::numeric_limits<double>::infinity()},
                                                          {"nan", std::numeric_limits<double>::quiet_NaN()}};
  return constants;
}

SugaredValuePtr constant(GraphFunction& method, const c10::IValue& value) {
  return std::make_shared<SimpleValue>(method.graph()->insertConstant(value));
}

// A module whose functions are ATen's under a prefix: torch.linalg.norm is linalg_norm, math.sqrt is sqrt.
class PrefixModule : public SugaredValue {
 public:
  PrefixModule(std::string kind, std::string prefix) : kind_(std::move(kind)), prefix_(std::move(prefix)) {}
  std::string kind() const override { return kind_; }
  SugaredValuePtr attr(const SourceRange&, GraphFunction& method, const std::string& field) override {
    const auto number = number_constants().find(field);
    if (number != number_constants().end()) return constant(method, number->second);
    return builtin(prefix_ + field);
  }

 private:
  std::string kind_;
  std::string prefix_;
};

class FunctionalModule : public SugaredValue {
 public:
  explicit FunctionalModule(std::shared_ptr<CompilationUnit> unit) : unit_(std::move(unit)) {}
  std::string kind() const override { return "torch.nn.functional"; }
  SugaredValuePtr attr(const SourceRange&, GraphFunction&, const std::string& field) override {
    if (auto* own = unit_->find_function(c10::QualifiedName(field))) {
      return std::make_shared<torch::jit::FunctionValue>(torch::jit::StrongFunctionPtr(unit_, own));
    }
    return builtin(field);
  }

 private:
  std::shared_ptr<CompilationUnit> unit_;
};

class NeuralModule : public SugaredValue {
 public:
  explicit NeuralModule(std::shared_ptr<CompilationUnit> unit) : unit_(std::move(unit)) {}
  std::string kind() const override { return "torch.nn"; }
  SugaredValuePtr attr(const SourceRange& location, GraphFunction&, const std::string& field) override {
    if (field == "functional") return std::make_shared<FunctionalModule>(unit_);
    throw std::runtime_error("torch.nn." + field +
                             " is a module class; write the reference with torch.nn.functional (" + location.str() +
                             ")");
  }

 private:
  std::shared_ptr<CompilationUnit> unit_;
};

class TorchModule : public SugaredValue {
 public:
  explicit TorchModule(std::shared_ptr<CompilationUnit> unit) : unit_(std::move(unit)) {}
  std::string kind() const override { return "torch"; }
  SugaredValuePtr attr(const SourceRange& location, GraphFunction& method, const std::string& field) override {
    if (field == "nn") return std::make_shared<NeuralModule>(unit_);
    if (field == "linalg" || field == "special" || field == "fft") {
      return std::make_shared<PrefixModule>("torch." + field, field + "_");
    }
    const auto dtype = dtype_constants().find(field);
    if (dtype != dtype_constants().end()) return constant(method, static_cast<std::int64_t>(dtype->second));
    const auto number = number_constants().find(field);
    if (number != number_constants().end()) return constant(method, number->second);
    return torch::jit::BuiltinModule("aten").attr(location, method, field);
  }

 private:
  std::shared_ptr<CompilationUnit> unit_;
};

class ScriptResolver : public torch::jit::Resolver {
 public:
  explicit ScriptResolver(std::shared_ptr<CompilationUnit> unit) : unit_(std::move(unit)) {}
  SugaredValuePtr resolveValue(const std::string& name, GraphFunction& method, const SourceRange& location) override {
    if (name == "torch") return std::make_shared<TorchModule>(unit_);
    if (name == "F") return std::make_shared<FunctionalModule>(unit_);
    if (name == "math") return std::make_shared<PrefixModule>("math", "");
    return torch::jit::nativeResolver()->resolveValue(name, method, location);
  }
  c10::TypePtr resolveType(const std::string&, const SourceRange&) override { return nullptr; }

 private:
  std::shared_ptr<CompilationUnit> unit_;
};

}  // namespace

torch::jit::ResolverPtr make_script_resolver() {
  // References call into this unit without owning it, so it lives as long as the program.
  static const auto unit = [] {
    auto made = std::make_shared<CompilationUnit>();
    made->define(c10::nullopt, functional_source, torch::jit::nativeResolver(), nullptr);
    return made;
  }();
  return std::make_shared<ScriptResolver>(unit);
}

}  // namespace kw
