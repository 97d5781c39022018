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
#include "base/run_log/run_store.h"

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

struct LoggedLines {
  std::vector<LoggedLine> lines;
  std::int64_t unreadable = 0;  // lines that are none of ours, or torn by a kill
};
// Changes nothing.
Result<LoggedLines> read_metric_lines(const std::filesystem::path& path, std::size_t limit_bytes = 256u << 20);

// Rewrites the file to what was logged up to the step, and returns that. A line that was torn by a kill is left out.
Result<std::vector<LoggedLine>> drop_lines_after(const std::filesystem::path& path, std::int64_t step);

}  // namespace kw
