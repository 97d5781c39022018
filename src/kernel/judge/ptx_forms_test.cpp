// Every instruction form that a kernel of this repository compiles to is emulated, and has a unit test whose expected
// values were computed some other way.

#include <fmt/format.h>

#include <iostream>
#include <set>

#include "kernel/emulate/engine_form_cases.h"
#include "kernel/emulate/lane_operations.h"
#include "kernel/emulate/ptx_forms.h"
#include "kernel/emulate/ptx_parser.h"
#include "kernel/judge/judge_test_support.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/judge/ptx_rules.h"

namespace kw {
namespace {

// The PTX of a kernel file; empty where it does not compile, as many kernels of the corpora do not.
std::string ptx_of(const std::filesystem::path& path, const std::string& task_name) {
  const std::string text = file_text(path);
  BuildOptions options;
  options.want_cubin = false;
  if (!task_name.empty())
    return build_kernel(test_service(), suite_task(task_name), text, path.filename(), options).compiled.ptx;
  const KernelBuild build = read_kernel(text, path.filename(), options);
  if (build.kernel_file == nullptr) return "";
  CompileRequest request;
  request.source = build.kernel_file->device_source;
  request.file_name = path.filename();
  request.want_cubin = false;
  return test_service().compile(request).ptx;
}

struct KernelText {
  std::filesystem::path path;
  std::string task;  // empty: compiled as it is, without the instances that a launcher asks for
};

std::vector<KernelText> kernels_of_the_repository() {
  std::vector<KernelText> kernels;
  for (const auto& folder : std::filesystem::directory_iterator(source_root() / "tasks")) {
    if (!folder.is_directory()) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".cu") kernels.push_back({file.path(), folder.path().filename()});
  }
  // tests/hostile is left out: it is made not to compile.
  for (const char* folder : {"examples", "tests/bugs", "tests/exploits", "tests/launchers", "tests/rules/clean"}) {
    if (!std::filesystem::exists(source_root() / folder)) continue;
    for (const auto& file : std::filesystem::directory_iterator(source_root() / folder)) {
      if (file.path().extension() != ".cu") continue;
      const auto facts = CorpusKernel::read(file.path()).facts;
      kernels.push_back({file.path(), facts.count("task") != 0 ? facts.at("task") : ""});
    }
  }
  return kernels;
}

struct EmittedForms {
  PtxForms counts;
  std::map<std::string, std::string> unsupported;  // form -> a file that has it
  int files = 0;
};

void add(const std::string& ptx, const std::string& file, EmittedForms& emitted) {
  auto module = parse_ptx(ptx);
  ASSERT_TRUE(module.ok()) << file << ": " << to_string(module.error());
  add_ptx_forms(*module, emitted.counts);
  auto loaded = LoadedModule::from(std::move(*module));
  ASSERT_TRUE(loaded.ok()) << file;
  for (const std::string& kernel : loaded->kernels()) {
    auto program = loaded->program(kernel);
    ASSERT_TRUE(program.ok()) << file << ": " << to_string(program.error());
    for (const FunctionCode& function : (*program)->functions)
      for (const Instruction& instruction : function.code)
        if (instruction.flow == Flow::unsupported)
          emitted.unsupported.try_emplace((*program)->origins[instruction.origin].form, file);
  }
  ++emitted.files;
}

TEST(PtxFormsSlow, EveryEmittedFormIsSupportedAndTested) {
  EmittedForms emitted;
  for (const KernelText& kernel : kernels_of_the_repository()) {
    const std::string ptx = ptx_of(kernel.path, kernel.task);
    // What is refused for its PTX never runs.
    if (ptx.empty() || !check_ptx(ptx).empty()) continue;
    add(ptx, kernel.path.string(), emitted);
  }
  EXPECT_GT(emitted.files, 250);
  for (const auto& [form, file] : emitted.unsupported) {
    // A kernel that cheats by strange means (a variable declared in assembly) may well be unsupported.
    if (file.find("tests/exploits") == std::string::npos) ADD_FAILURE() << form << " is not emulated: " << file;
  }

  const std::set<std::string> tested = forms_with_engine_case();
  std::string missing;
  for (const auto& [form, count] : emitted.counts) {
    // All lane operations are compared with the oracle (lane_operations_test.cpp), form by form.
    const bool lane = find_lane_form(form, VectorUnit::portable) != nullptr;
    if (!lane && tested.count(form) == 0) missing += fmt::format("\n  {} ({} times)", form, count);
  }
  EXPECT_EQ(missing, "") << "forms without a row in emulate/engine_form_cases.h";
  std::cout << emitted.files << " kernel files, " << emitted.counts.size() << " forms\n";
}

}  // namespace
}  // namespace kw
