#include <gtest/gtest.h>

#include "kernel/compile/worker.h"
#include "kernel/gpu/worker.h"

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_compile_worker(argc, argv)) return *code;
  if (const auto code = kw::run_if_gpu_worker(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
