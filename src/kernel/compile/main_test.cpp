// The tests' own main: the compile workers are this very program, started again.
#include <gtest/gtest.h>

#include "kernel/compile/nvcc_worker.h"
#include "kernel/compile/worker.h"

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_compile_worker(argc, argv)) return *code;
  if (const auto code = kw::run_if_nvcc_worker(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
