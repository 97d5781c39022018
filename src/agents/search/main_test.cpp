// The tests' own main: the workers are this very program, started again.
#include <gtest/gtest.h>

#include "kernel/judge/worker.h"

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_worker(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
