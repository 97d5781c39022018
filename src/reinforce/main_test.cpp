// The tests' own main: the compile workers, and the runs that are killed, are this very program, started again.
#include <gtest/gtest.h>

#include "compile/worker.h"
#include "reinforce/killed_run.h"

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_compile_worker(argc, argv)) return *code;
  if (const auto code = kw::run_if_killed_run(argc, argv)) return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
