#pragma once
// Fits the constants of a device profile to measured times. The counts of every plan are taken once; the fit only
// evaluates the formulas of kernel_time.h with other constants. It minimises the squared logarithm of modelled /
// measured (large ones count linearly, Huber's loss, so that a kernel that the model does not understand does not bend
// the rest), plus a pull towards the starting profile for what the measurements do not determine. Levenberg-Marquardt
// on the logarithms of the constants, inside bounds; deterministic.
//
// What it does not do: change which loads hit a cache, or which instructions a kernel is made of.

#include <span>
#include <string>
#include <vector>

#include "kernel/performance/plan_time.h"

namespace kw {

struct MeasuredPlan {
  std::string task;
  std::string kernel;  // "naive", "optimised" or a file
  std::string size;
  std::string kind;  // of size: "small", "train", "holdout"; may be empty
  double measured_us = 0;
  double weight = 1;
  PlanCounts counts;
};

// A constant that is fitted: its key in the profile's YAML ("lanes_per_cycle.fp32"), and how far it may go.
struct FittedConstant {
  const char* key;
  double& (*of)(DeviceProfile&);
  double lowest, highest;  // in units of the starting value
};
std::span<const FittedConstant> fitted_constants();

struct FitOptions {
  int iterations = 25;
  double noise = 0.15;           // of log(modelled / measured): what a good model leaves
  double outlier = 0.45;         // from here on the loss is linear
  double prior_deviation = 0.5;  // of log(constant / starting value)
};

// Begins at `guess`; the pull and the bounds are around `start`.
DeviceProfile fit(const DeviceProfile& start, const DeviceProfile& guess, const std::vector<const MeasuredPlan*>& plans,
                  const FitOptions& options = {});

// The fold of a task: all its kernels and sizes are held out together.
int fold_of(const std::string& task, int folds);

// The modelled time of each plan by a profile that was fitted without any kernel of its task. Folds run on `threads`.
std::vector<double> cross_validate(const DeviceProfile& start, const std::vector<MeasuredPlan>& plans, int folds,
                                   int threads, const FitOptions& options = {});

}  // namespace kw
