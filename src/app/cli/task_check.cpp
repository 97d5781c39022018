#include "app/cli/task_check.h"

#include "kernel/compile/service.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/reference/check_reference.h"

namespace kw::cli {
const char* word(Step step) {
  switch (step) {
    case Step::not_run:
      return "-";
    case Step::passed:
      return "ok";
    case Step::failed:
      return "FAILED";
  }
  return "";
}

TaskCheck TaskCheck::unreadable(const Error& error) {
  TaskCheck check;
  check.problem = error;
  return check;
}

Json to_json(const std::string& name, const TaskCheck& check) {
  Json json{{"task", name},
            {"passed", check.passed()},
            {"reference", word(check.reference)},
            {"plan", word(check.plan)},
            {"compile", word(check.compile)}};
  if (!check.passed()) json["problem"] = to_json(check.problem);
  return json;
}

TaskChecker::TaskChecker() : service_(std::make_unique<CompileService>()) {}
TaskChecker::~TaskChecker() = default;

TaskCheck TaskChecker::check(const Task& task) const {
  TaskCheck check;
  const auto reference = check_reference(task);
  check.reference = reference.ok() ? Step::passed : Step::failed;
  if (!reference.ok()) {
    check.problem = reference.error();
    return check;
  }
  if (task.naive.empty()) return check;  // nothing to plan or compile: a user's task need not have one
  const KernelBuild build = build_kernel(*service_, task, task.naive, task.naive_file);
  const bool planned = build.status != BuildStatus::rejected && build.status != BuildStatus::launcher_error;
  check.plan = planned ? Step::passed : Step::failed;
  if (planned) check.compile = build.built() ? Step::passed : Step::failed;
  if (!build.built()) check.problem = build.problem;
  return check;
}

}  // namespace kw::cli
