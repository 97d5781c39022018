// Steps of optimizers: several inputs of one shape, several results.

#include <fmt/format.h>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

Value start_parameters(Draft& draft) {
  if (draft.chance(0.7)) draft.dtype = Dtype::float32;
  return draft.normal({"parameter", "weight", "p"}, draft.plain_dims(static_cast<int>(draft.between(1, 2))));
}

Value draw_momentum(Draft& draft, const Value& p) {
  const Value g = draft.normal({"gradient", "grad"}, p.dims), v = draft.normal({"velocity", "momentum"}, p.dims);
  const std::string decay = draft.chance(0.4) ? fmt::format(" + {} * {}", draft.constant(0.01, 0.1), p.name) : "";
  const Value velocity =
      draft.say(fmt::format("{} * {} + ({}{})", draft.constant(0.5, 0.95), v.name, g.name, decay), p);
  const std::string rate = draft.constant(0.01, 0.3);
  Value next = draft.chance(0.3)
                   ? draft.say(fmt::format("{} - {} * ({} + {} * 0.9)", p.name, rate, g.name, velocity.name), p)
                   : draft.say(fmt::format("{} - {} * {}", p.name, rate, velocity.name), p);
  draft.extra_results.push_back(velocity);
  return next;
}

Value draw_adam(Draft& draft, const Value& p) {
  const Value g = draft.normal({"gradient", "grad"}, p.dims), m = draft.normal({"mean", "m"}, p.dims);
  const Value v = draft.uniform({"variance", "squares"}, p.dims, 0, 1);
  const std::string beta = draft.constant(0.8, 0.95), second = draft.constant(0.9, 0.99);
  const Value mean = draft.say(fmt::format("{0} * {1} + (1 - {0}) * {2}", beta, m.name, g.name), p);
  const Value squares = draft.say(fmt::format("{0} * {1} + (1 - {0}) * {2} * {2}", second, v.name, g.name), p);
  const std::string decay =
      draft.chance(0.4) ? fmt::format("{} * (1 - {})", p.name, draft.constant(0.01, 0.1)) : p.name;
  Value next = draft.say(fmt::format("{} - {} * {} / (torch.sqrt({}) + {})", decay, draft.constant(0.01, 0.3),
                                     mean.name, squares.name, draft.constant(0.05, 0.2)),
                         p);
  draft.extra_results.push_back(mean);
  if (draft.chance(0.7)) draft.extra_results.push_back(squares);
  return next;
}

Value draw_rms(Draft& draft, const Value& p) {
  const Value g = draft.normal({"gradient", "grad"}, p.dims), v = draft.uniform({"squares"}, p.dims, 0, 1);
  const std::string beta = draft.constant(0.8, 0.99);
  const bool adagrad = draft.chance(0.3);
  const Value squares = adagrad ? draft.say(fmt::format("{0} + {1} * {1}", v.name, g.name), p)
                                : draft.say(fmt::format("{0} * {1} + (1 - {0}) * {2} * {2}", beta, v.name, g.name), p);
  Value next = draft.say(
      fmt::format("{} - {} * {} / torch.sqrt({} + 0.05)", p.name, draft.constant(0.01, 0.3), g.name, squares.name), p);
  draft.extra_results.push_back(squares);
  return next;
}

constexpr Family families[] = {
    {"sgd_momentum", 1, false, nullptr, draw_momentum, start_parameters},
    {"adam", 1, false, nullptr, draw_adam, start_parameters},
    {"rms_step", 1, false, nullptr, draw_rms, start_parameters},
};

}  // namespace

std::span<const Family> stages_optimizers() { return families; }

}  // namespace kw::programs
