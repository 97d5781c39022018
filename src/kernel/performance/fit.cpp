#include "kernel/performance/fit.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"

namespace kw {
namespace {

template <double DeviceProfile::*member>
double& constant(DeviceProfile& profile) {
  return profile.*member;
}
template <Pipe pipe>
double& lanes(DeviceProfile& profile) {
  return profile.lanes_per_cycle[static_cast<std::size_t>(pipe)];
}

constexpr FittedConstant constants[] = {
    {"dram_gb_per_s", constant<&DeviceProfile::dram_gb_per_s>, 0.6, 1.12},
    {"dram_ramp_us", constant<&DeviceProfile::dram_ramp_us>, 0.1, 8},
    {"l2_gb_per_s", constant<&DeviceProfile::l2_gb_per_s>, 0.4, 2},
    {"l2_bytes_per_cycle_and_sm", constant<&DeviceProfile::l2_bytes_per_cycle_and_sm>, 0.3, 1.5},
    {"l1_sectors_per_cycle", constant<&DeviceProfile::l1_sectors_per_cycle>, 0.3, 1.5},
    {"l1_lines_per_cycle", constant<&DeviceProfile::l1_lines_per_cycle>, 0.3, 4},
    {"store_lines_per_cycle", constant<&DeviceProfile::store_lines_per_cycle>, 0.2, 3},
    {"shared_wavefronts_per_cycle", constant<&DeviceProfile::shared_wavefronts_per_cycle>, 0.3, 1.3},
    {"issue_per_cycle", constant<&DeviceProfile::issue_per_cycle>, 0.4, 1.2},
    {"lanes_per_cycle.fp32", lanes<Pipe::fp32>, 0.4, 1.2},
    {"lanes_per_cycle.integer", lanes<Pipe::integer>, 0.4, 2},
    {"lanes_per_cycle.special", lanes<Pipe::special>, 0.4, 2},
    {"lanes_per_cycle.convert", lanes<Pipe::convert>, 0.25, 2},
    {"lanes_per_cycle.tensor", lanes<Pipe::tensor>, 0.4, 1.6},
    {"lanes_per_cycle.memory", lanes<Pipe::memory>, 0.4, 2},
    {"lanes_per_cycle.shuffle", lanes<Pipe::shuffle>, 0.4, 2},
    {"l1_latency_cycles", constant<&DeviceProfile::l1_latency_cycles>, 0.5, 3},
    {"shared_latency_cycles", constant<&DeviceProfile::shared_latency_cycles>, 0.5, 3},
    {"l2_latency_cycles", constant<&DeviceProfile::l2_latency_cycles>, 0.5, 2},
    {"dram_latency_cycles", constant<&DeviceProfile::dram_latency_cycles>, 0.5, 2},
    {"instruction_latency_factor", constant<&DeviceProfile::instruction_latency_factor>, 0.4, 2.5},
    {"barrier_cycles", constant<&DeviceProfile::barrier_cycles>, 0.3, 4},
    {"branch_cycles", constant<&DeviceProfile::branch_cycles>, 0.2, 4},
    {"block_start_cycles", constant<&DeviceProfile::block_start_cycles>, 0.1, 3},
    {"warp_start_cycles", constant<&DeviceProfile::warp_start_cycles>, 0.2, 4},
    {"blocks_per_ns", constant<&DeviceProfile::blocks_per_ns>, 0.3, 3},
    {"launch_us", constant<&DeviceProfile::launch_us>, 0.1, 2},
    {"next_launch_us", constant<&DeviceProfile::next_launch_us>, 0.1, 4},
    {"transfer_us", constant<&DeviceProfile::transfer_us>, 0.2, 5},
    {"allocation_us", constant<&DeviceProfile::allocation_us>, 0.02, 4},
    {"atomic_same_address_ns", constant<&DeviceProfile::atomic_same_address_ns>, 0.2, 5},
    {"atomic_line_ns", constant<&DeviceProfile::atomic_line_ns>, 0.2, 5},
    {"atomic_sectors_per_ns", constant<&DeviceProfile::atomic_sectors_per_ns>, 0.1, 5},
    {"norm_exponent", constant<&DeviceProfile::norm_exponent>, 0.15, 2},
};
constexpr std::size_t constant_count = std::size(constants);

using Vector = std::vector<double>;

DeviceProfile with(const DeviceProfile& start, const Vector& logs) {
  DeviceProfile profile = start;
  for (std::size_t k = 0; k < constant_count; ++k) constants[k].of(profile) *= std::exp(logs[k]);
  return profile;
}

// One entry a plan: log(modelled / measured) in units of the noise.
Vector residuals(const DeviceProfile& profile, const std::vector<const MeasuredPlan*>& plans, double noise) {
  Vector found;
  found.reserve(plans.size());
  for (const MeasuredPlan* plan : plans)
    found.push_back(std::log(plan_us(profile, plan->counts) / plan->measured_us) / noise);
  return found;
}

double huber(double residual, double edge) {
  const double size = std::abs(residual);
  return size <= edge ? size * size : 2 * edge * size - edge * edge;
}

struct Problem {
  const DeviceProfile& start;
  const std::vector<const MeasuredPlan*>& plans;
  const FitOptions& options;

  double cost(const Vector& logs, const Vector& found) const {
    double sum = 0;
    for (std::size_t i = 0; i < plans.size(); ++i)
      sum += plans[i]->weight * huber(found[i], options.outlier / options.noise);
    for (double log : logs) sum += log * log / (options.prior_deviation * options.prior_deviation);
    return sum;
  }
};

// Solves a x = b for a symmetric positive definite matrix (row-major), by Cholesky's decomposition in place.
Vector solve(Vector a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k)
      for (std::size_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    const double pivot = std::sqrt(std::max(a[j * n + j], 1e-12));
    for (std::size_t i = j; i < n; ++i) a[i * n + j] /= pivot;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return b;
}

// The normal equations of the linearised problem at `logs`.
struct Linearised {
  Vector matrix = Vector(constant_count * constant_count, 0.0);
  Vector gradient = Vector(constant_count, 0.0);
};

Linearised linearise(const Problem& problem, const Vector& logs, const Vector& found) {
  constexpr double step = 0.01;
  const auto& [start, plans, options] = problem;
  std::vector<Vector> columns;
  for (std::size_t k = 0; k < constant_count; ++k) {
    Vector moved = logs;
    moved[k] += step;
    columns.push_back(residuals(with(start, moved), plans, options.noise));
    for (std::size_t i = 0; i < plans.size(); ++i) columns[k][i] = (columns[k][i] - found[i]) / step;
  }
  Linearised result;
  const double edge = options.outlier / options.noise;
  const double prior = 1 / (options.prior_deviation * options.prior_deviation);
  Vector weights(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i)
    weights[i] = plans[i]->weight * (std::abs(found[i]) <= edge ? 1 : edge / std::abs(found[i]));
  for (std::size_t k = 0; k < constant_count; ++k) {
    for (std::size_t l = 0; l <= k; ++l) {
      double sum = k == l ? prior : 0;
      for (std::size_t i = 0; i < plans.size(); ++i) sum += weights[i] * columns[k][i] * columns[l][i];
      result.matrix[k * constant_count + l] = result.matrix[l * constant_count + k] = sum;
    }
    result.gradient[k] = prior * logs[k];
    for (std::size_t i = 0; i < plans.size(); ++i) result.gradient[k] += weights[i] * columns[k][i] * found[i];
  }
  return result;
}

}  // namespace

std::span<const FittedConstant> fitted_constants() { return constants; }

DeviceProfile fit(const DeviceProfile& start, const DeviceProfile& guess, const std::vector<const MeasuredPlan*>& plans,
                  const FitOptions& options) {
  const Problem problem{start, plans, options};
  Vector logs;
  DeviceProfile from = start, to = guess;
  for (const FittedConstant& each : constants) logs.push_back(std::log(each.of(to) / each.of(from)));
  Vector found = residuals(guess, plans, options.noise);
  double cost = problem.cost(logs, found), damping = 1e-2;
  for (int iteration = 0; iteration < options.iterations && !interrupted(); ++iteration) {
    const Linearised linear = linearise(problem, logs, found);
    bool better = false;
    for (int attempt = 0; attempt < 8 && !better; ++attempt) {
      Vector matrix = linear.matrix;
      for (std::size_t k = 0; k < constant_count; ++k) matrix[k * constant_count + k] *= 1 + damping;
      const Vector step = solve(std::move(matrix), linear.gradient);
      Vector moved = logs;
      for (std::size_t k = 0; k < constant_count; ++k)
        moved[k] = std::clamp(logs[k] - step[k], std::log(constants[k].lowest), std::log(constants[k].highest));
      Vector there = residuals(with(start, moved), plans, options.noise);
      const double cost_there = problem.cost(moved, there);
      better = cost_there < cost;
      damping *= better ? 0.3 : 4;
      if (!better) continue;
      const bool settled = cost - cost_there < 1e-5 * cost;
      logs = std::move(moved);
      found = std::move(there);
      cost = cost_there;
      if (settled) return with(start, logs);
    }
    if (!better) break;
  }
  return with(start, logs);
}

int fold_of(const std::string& task, int folds) {
  return static_cast<int>(checksum64(task) % static_cast<std::uint64_t>(folds));
}

std::vector<double> cross_validate(const DeviceProfile& start, const std::vector<MeasuredPlan>& plans, int folds,
                                   int threads, const FitOptions& options) {
  std::vector<double> modelled(plans.size(), 0.0);
  parallel_for(static_cast<std::size_t>(folds), threads, [&](std::size_t at) {
    if (interrupted()) return;
    const int fold = static_cast<int>(at);
    std::vector<const MeasuredPlan*> others;
    for (const MeasuredPlan& plan : plans)
      if (fold_of(plan.task, folds) != fold) others.push_back(&plan);
    const DeviceProfile fitted = fit(start, start, others, options);
    for (std::size_t k = 0; k < plans.size(); ++k)
      if (fold_of(plans[k].task, folds) == fold) modelled[k] = plan_us(fitted, plans[k].counts);
  });
  return modelled;
}

}  // namespace kw
