#pragma once
// For tests: one compile service and one judge for the whole program.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/test_length.h"
#include "kernel/judge/judge.h"
#include "kernel/task/task_file.h"

namespace kw {

inline std::filesystem::path source_root() { return KW_SOURCE_ROOT; }

inline CompileService& test_service() {
  static CompileService service;
  return service;
}

// Not cached: a test that asks an old verdict tests nothing.
inline Judge& test_judge() {
  static Judge judge(test_service(), [] {
    JudgeOptions options;
    options.limits.seconds = 3600;  // work is counted; how busy the machine is must not matter
    options.profile = load_profile("h200").value();
    options.secret = "a secret for tests";
    options.cache = false;
    return options;
  }());
  return judge;
}

inline Task suite_task(const std::string& name) { return find_task(source_root() / "tasks", name).value(); }

inline std::string file_text(const std::filesystem::path& path) { return read_file(path).value(); }

inline std::string describe(const Verdict& verdict) {
  std::ostringstream text;
  text << verdict.kernel_file << ": " << to_string(verdict.status) << ": " << verdict.summary << "\n";
  for (const VerdictFinding& finding : verdict.findings)
    text << "  line " << finding.line << " [" << finding.kind << "] " << finding.message << "\n";
  return text.str();
}

// A kernel of a corpus: `// key: value` lines at the top, and lines marked with a trailing `// BUG`.
struct CorpusKernel {
  std::filesystem::path path;
  std::string text;
  std::map<std::string, std::string> facts;
  std::vector<int> marked_lines;

  static CorpusKernel read(const std::filesystem::path& path) {
    CorpusKernel kernel;
    kernel.path = path;
    kernel.text = file_text(path);
    std::istringstream lines(kernel.text);
    int number = 0;
    bool header = true;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const std::size_t colon = line.find(": ");
      if (header && line.rfind("// ", 0) == 0 && colon != std::string::npos) {
        std::string value = line.substr(colon + 2);
        while (!value.empty() && (value.back() == ' ' || value.back() == '\r')) value.pop_back();
        kernel.facts[line.substr(3, colon - 3)] = value;
      } else {
        header = false;
      }
      if (line.find("// BUG") != std::string::npos) kernel.marked_lines.push_back(number);
    }
    return kernel;
  }

  // Is `value` one of the alternatives of a fact ("race|fault")?
  bool allows(const std::string& fact, const std::string& value) const {
    const auto found = facts.find(fact);
    if (found == facts.end()) return false;
    std::istringstream alternatives(found->second);
    for (std::string each; std::getline(alternatives, each, '|');) {
      each.erase(0, each.find_first_not_of(' '));
      each.erase(each.find_last_not_of(' ') + 1);
      if (each == value) return true;
    }
    return false;
  }
};

inline std::vector<CorpusKernel> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() / folder))
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusKernel> kernels;
  kernels.reserve(paths.size());
  for (const auto& path : paths) kernels.push_back(CorpusKernel::read(path));
  return kernels;
}

}  // namespace kw
