#pragma once
// metrics.jsonl: one JSON object a line, {"step": 12, "train/loss": 0.5}, or {"step": 12, "tag": "sample", "text":
// "..."}. It holds no times of its own, so the files of two equal runs are equal. Numbers that JSON lacks are texts:
// "nan", "inf",
// "-inf".

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "run/run_store.h"

namespace kw {

std::string metric_line(std::int64_t step, const std::vector<std::pair<std::string, double>>& metrics);
std::string text_line(const RunText& text);

// Appends lines, each with one call of the system: a kill loses nothing that was written.
class LineFile {
 public:
  static Result<LineFile> append_to(const std::filesystem::path& path);
  LineFile(LineFile&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  LineFile& operator=(LineFile&&) = delete;
  ~LineFile();
  Result<void> add(std::string_view line);
  Result<void> sync();

 private:
  LineFile(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  std::filesystem::path path_;
  int file_ = -1;
};

struct LoggedLine {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<RunText> texts;  // none or one
};

// Rewrites the file to what was logged up to the step, and returns that. A line that was torn by a kill is left out.
Result<std::vector<LoggedLine>> drop_lines_after(const std::filesystem::path& path, std::int64_t step);

}  // namespace kw
