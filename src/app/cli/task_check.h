#pragma once
// Whether a task is sound: its reference runs, its naive kernel's launcher gives a plan at every size, and the kernel
// compiles.

#include <memory>
#include <optional>
#include <string>

#include "app/cli/command.h"

namespace kw {
class CompileService;
}

namespace kw::cli {

enum class Step { not_run, passed, failed };
const char* word(Step step);

struct TaskCheck {
  Step reference = Step::not_run;
  Step plan = Step::not_run;
  Step compile = Step::not_run;
  Error problem;  // of the first step that failed

  // Without a naive kernel there is nothing to plan and compile.
  bool passed() const { return reference == Step::passed && plan != Step::failed && compile != Step::failed; }
  static TaskCheck unreadable(const Error& error);
};

Json to_json(const std::string& name, const TaskCheck& check);

class TaskChecker {
 public:
  TaskChecker();
  ~TaskChecker();
  TaskCheck check(const Task& task) const;

 private:
  std::unique_ptr<CompileService> service_;
};

}  // namespace kw::cli
