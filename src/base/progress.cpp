#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto terminal_period = std::chrono::milliseconds(100);
constexpr auto log_period = std::chrono::seconds(10);

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown time";
  const long long whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_line(const std::string& what, std::uint64_t done, std::uint64_t total, double elapsed_s) {
  std::string line = what + " " + std::to_string(done);
  if (total > 0) line += fmt::format("/{} ({} %)", total, done * 100 / total);
  if (done == 0 || elapsed_s <= 0) return line;
  const double rate = static_cast<double>(done) / elapsed_s;
  line += fmt::format(" {:.{}f}/s", rate, rate < 10 ? 2 : 0);
  if (total > done) {
    line += ", " + duration_text(static_cast<double>(total - done) / rate) + " left";
  } else {
    line += ", " + duration_text(elapsed_s);
  }
  return line;
}

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)),
      total_(total),
      on_terminal_(::isatty(STDERR_FILENO) != 0),
      started_(Clock::now()),
      drawn_(started_) {}

Progress::~Progress() { finish(); }

void Progress::advance(std::uint64_t count, const std::string& note) {
  const std::lock_guard lock(mutex_);
  done_ += count;
  note_ = note;
  const auto now = Clock::now();
  if (now - drawn_ < (on_terminal_ ? Clock::duration(terminal_period) : Clock::duration(log_period))) return;
  drawn_ = now;
  draw(false);
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  note_.clear();
  draw(true);
}

void Progress::draw(bool last) {
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - started_).count();
  std::string line = progress_line(what_, done_, total_, elapsed_s);
  if (!note_.empty()) line += "  " + note_;
  if (on_terminal_) {
    std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), last ? "\n" : "");
    std::fflush(stderr);
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

}  // namespace kw
