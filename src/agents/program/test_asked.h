#pragma once
// For tests: a task from a few words, the library's kernel of it, and the judge's word on that.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agents/program/read_program.h"
#include "agents/program/write_program.h"
#include "kernel/judge/judge.h"
#include "kernel/task/task_file.h"

namespace kw::program {

struct Asked {
  std::string dtype = "float32", body;
  std::vector<std::string> before;  // lines that the body stands on
  std::vector<std::string> inputs;  // `a: [m, k]`
  std::string output = "[m, n]";
  std::string small = "{m: 37, k: 50, n: 70}, {m: 64, k: 32, n: 72}", train = "{m: 1024, k: 512, n: 768}";
};

inline Task task_of(const Asked& asked) {
  std::string names, inputs;
  for (const std::string& input : asked.inputs) {
    const std::size_t colon = input.find(':');
    names += (names.empty() ? "" : ", ") + input.substr(0, colon);
    inputs += fmt::format("  {}: {{dtype: {}, shape: {}, values: normal}}\n", input.substr(0, colon), asked.dtype,
                          input.substr(colon + 1));
  }
  std::string lines;
  for (const std::string& line : asked.before) lines += "      " + line + "\n";
  const auto task =
      parse_task(fmt::format("name: asked\npytorch: |\n  def reference({}):\n{}      return {}\ninputs:\n{}outputs:\n"
                             "  out: {{dtype: {}, shape: {}}}\nsizes:\n  small: [{}]\n  train: [{}]\n",
                             names, lines, asked.body, inputs, asked.dtype, asked.output, asked.small, asked.train),
                 "asked.yaml");
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : task.error().message);
  return *task;
}

inline std::string kernel_of(const Task& task) {
  const auto graph = read_program(task);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return "";
  const auto kernel = write_program(task, *graph);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  return kernel.ok() ? *kernel : "";
}

inline int count(const std::string& text, const std::string& part) {
  int made = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++made;
  return made;
}

class Judged {
 public:
  Verdict operator()(const Asked& asked, const std::string& kernel) {
    return judge_.judge(task_of(asked), kernel, "asked.cu");
  }

 private:
  static JudgeOptions options() {
    JudgeOptions made;
    made.profile = load_profile("h200").value();
    made.secret = "contractions";
    made.want_time = false;
    made.full_size = false;
    return made;
  }
  CompileService service_;
  Judge judge_{service_, options()};
};

}  // namespace kw::program
