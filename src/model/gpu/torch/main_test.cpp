// The tests' own main: instructions that do not work are found by this very program, started again.
#include <gtest/gtest.h>

#include <cstdio>

#include "kernel/reference/instruction_set.h"
#include "kernel/reference/worker.h"
#include "model/gpu/torch/torch_headers.h"

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_reference_worker(argc, argv)) return *code;
  // libtorch is loaded already, and looks at the environment when it computes for the first time.
  if (const auto applied = kw::apply_instruction_set(); !applied.ok()) {
    std::fprintf(stderr, "%s\n", kw::to_string(applied.error()).c_str());
    return 1;
  }
  if (!kw::onednn_is_allowed()) at::globalContext().setUserEnabledMkldnn(false);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
