#include "model/decoder/optimizer_options.h"

#include <cmath>
#include <string>

namespace kw {

std::string_view to_string(OptimizerKind kind) { return kind == OptimizerKind::muon ? "muon" : "adamw"; }

Result<OptimizerKind> optimizer_kind(std::string_view name) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::muon}) {
    if (name == to_string(kind)) return kind;
  }
  return Error{"there is no optimizer '" + std::string(name.substr(0, 100)) + "'", "adamw or muon", {}};
}

Result<void> check_optimizer(const OptimizerOptions& options) {
  const auto share = [](double value) { return value >= 0 && value < 1; };  // false for what is not a number
  if (!share(options.beta1) || !share(options.beta2)) return Error{"AdamW's betas are at least 0 and below 1", "", {}};
  if (options.kind != OptimizerKind::muon) return {};
  if (options.eight_bit) return Error{"Muon's momentum has 32 bits", "8-bit moments go with adamw", {}};
  if (!share(options.muon.momentum)) return Error{"Muon's momentum is at least 0 and below 1", "0.95 is usual", {}};
  if (!std::isfinite(options.muon.rate_scale) || options.muon.rate_scale <= 0) {
    return Error{"Muon's scale of the learning rate is above 0", "1 is usual", {}};
  }
  if (options.muon.iterations < 1 || options.muon.iterations > 20) {
    return Error{"Muon takes 1 to 20 iterations", "5 is usual", {}};
  }
  return {};
}

}  // namespace kw
