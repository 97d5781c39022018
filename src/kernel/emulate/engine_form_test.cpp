// Every row of engine_form_cases.h, and the page of supported forms.
#include "kernel/emulate/engine_form_cases.h"

#include <cstdlib>

#include "base/file.h"
#include "kernel/emulate/decode_forms.h"
#include "kernel/emulate/ptx_parser.h"

namespace kw {
namespace {

TEST(EngineForms, WriteTheExpectedBytes) {
  std::size_t checked = 0;
  for (const EngineFormCase& one : engine_form_cases()) {
    SCOPED_TRACE(one.forms[0]);
    TestKernel kernel(one.body, one.declarations);
    kernel.input(one.input);
    kernel.in_out(one.before);
    kernel.arguments.block = {one.threads, 1, 1};
    const RunResult result = kernel.run(32);
    ASSERT_EQ(result.status, one.status) << describe(result) << " " << result.unsupported << "\n" << one.body;
    if (one.status == RunStatus::ok) {
      ASSERT_TRUE(clean(result)) << one.body;
      ASSERT_EQ(kernel.result<std::uint8_t>(one.expected.size()), one.expected) << one.body;
    }
    ++checked;
  }
  EXPECT_GT(checked, 1500u);
}

// A row that names a form must contain it, or the register of tested forms would lie.
TEST(EngineForms, RowsContainWhatTheyName) {
  for (const EngineFormCase& one : engine_form_cases()) {
    const auto module = parse_ptx(test_ptx(one.body, one.declarations));
    ASSERT_TRUE(module.ok()) << to_string(module.error()) << "\n" << one.body;
    std::set<std::string> present;
    for (const PtxFunction& function : module->functions)
      for (const PtxInstruction& instruction : function.body) present.insert(instruction.form());
    for (const std::string& form : one.forms) EXPECT_EQ(present.count(form), 1u) << form << "\n" << one.body;
  }
}

// KW_UPDATE_DOCS=1 build/src/kernel/emulate/emulate_test --gtest_filter='SupportedForms.*' writes the page anew.
TEST(SupportedForms, ThePageIsUpToDate) {
  const std::string path = std::string(KW_SOURCE_ROOT) + "/docs/ptx-forms.md";
  if (std::getenv("KW_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, supported_forms_page()).ok());
  }
  const auto text = read_file(path);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(*text == supported_forms_page())
      << "write it anew: KW_UPDATE_DOCS=1 emulate_test --gtest_filter='SupportedForms.*'";
}

TEST(EngineControl, TheLastInstructionOfTheBudgetMayBeTheLastOfTheKernel) {
  TestKernel kernel("mov.u32 %r20, 7;\n" + store_r20);
  kernel.output(128);
  const RunResult whole = kernel.run();
  ASSERT_TRUE(clean(whole));
  kernel.limits.warp_instructions = static_cast<std::int64_t>(whole.statistics.warp_instructions);
  EXPECT_TRUE(clean(kernel.run()));
  kernel.limits.warp_instructions -= 1;
  const RunResult cut = kernel.run();
  EXPECT_EQ(cut.status, RunStatus::timeout);
  EXPECT_EQ(cut.findings.size(), 1u);
}

}  // namespace
}  // namespace kw
