#pragma once
// One line on standard error that says how far a long command is: count, rate, time left. On a terminal it is redrawn
// in place; in a log it is printed every few seconds.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace kw {

class Progress {
 public:
  // total 0: not known beforehand.
  Progress(std::string what, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Safe from several threads. `note` is shown at the end of the line.
  void advance(std::uint64_t count = 1, const std::string& note = "");
  // Prints the last state and ends the line; also done at destruction.
  void finish();

 private:
  void draw(bool last);

  std::mutex mutex_;
  std::string what_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  std::string note_;
  bool on_terminal_;
  bool finished_ = false;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point drawn_;
};

// "tasks 12/90 (13 %) 4.2/s, 18 s left"
std::string progress_line(const std::string& what, std::uint64_t done, std::uint64_t total, double elapsed_s);
// "18 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);

}  // namespace kw
