#include "kernel/judge/worker.h"

#include "kernel/compile/nvcc_worker.h"
#include "kernel/compile/worker.h"
#include "kernel/gpu/worker.h"
#include "kernel/reference/worker.h"
#include "kernel/sandbox/container_process.h"

namespace kw {

std::optional<int> run_if_worker(int argc, char** argv) {
  for (const auto& run_if :
       {run_if_contained_worker, run_if_compile_worker, run_if_nvcc_worker, run_if_reference_worker, run_if_gpu_worker})
    if (const auto code = run_if(argc, argv)) return code;
  return std::nullopt;
}

}  // namespace kw
