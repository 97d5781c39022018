#pragma once
// For tests of workers: our helper kernels and others, compiled for the device that a worker has.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "kernel/compile/service.h"
#include "kernel/gpu/helper_kernels.h"
#include "kernel/gpu/worker_process.h"

namespace kw {

// Only for a worker that never answers.
inline constexpr std::chrono::milliseconds patience = std::chrono::minutes(10);

enum class Image { ptx, cubin };

// Compiles the source for the worker's device and loads it.
inline void load_source(GpuWorker& worker, std::uint64_t slot, const std::string& source,
                        const std::vector<std::string>& kernels, Image image) {
  static CompileService service;
  CompileRequest request;
  request.source = source;
  request.kernels = kernels;
  request.want_cubin = image == Image::cubin;
  if (const auto fitting = architecture_from_string(std::to_string(worker.facts().capability)))
    request.architecture = *fitting;
  const CompileResult compiled = service.compile(request);
  ASSERT_TRUE(compiled.ok()) << compiled.explanation;
  std::vector<std::string> symbols;
  for (const CompiledKernel& kernel : compiled.kernels) symbols.push_back(kernel.symbol);
  const auto loaded =
      worker.load_module({slot, image == Image::cubin ? &compiled.cubin : &compiled.ptx, &symbols}, patience);
  ASSERT_TRUE(loaded.done()) << loaded.text;
}

inline void load_helpers(GpuWorker& worker, Image image) {
  std::vector<std::string> names;
  for (const std::string_view name : helper_kernel_names) names.emplace_back(name);
  load_source(worker, 0, std::string(helper_kernel_source), names, image);
}

}  // namespace kw
