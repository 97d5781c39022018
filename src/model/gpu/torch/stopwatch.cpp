#include "model/gpu/torch/stopwatch.h"

#include <algorithm>
#include <cstdio>

namespace kw {

void Stopwatch::mark(const char* piece) {
  if (!enabled) return;
  marks_.emplace_back(piece, at::cuda::CUDAEvent(cudaEventDefault));
  marks_.back().second.record();
}

std::string Stopwatch::report() {
  if (marks_.empty()) return {};
  marks_.back().second.synchronize();
  std::map<std::string, std::pair<double, int>> pieces;
  double all_ms = 0;
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    if (marks_[i].first == nullptr) continue;
    const double ms = marks_[i - 1].second.elapsed_time(marks_[i].second);
    auto& piece = pieces[marks_[i].first];
    piece.first += ms;
    ++piece.second;
    all_ms += ms;
  }
  marks_.clear();
  std::vector<std::pair<std::string, std::pair<double, int>>> sorted(pieces.begin(), pieces.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  std::string text;
  for (const auto& [name, time] : sorted) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-28s %9.3f ms  %5.1f %%  %6d times\n", name.c_str(), time.first,
                  100 * time.first / all_ms, time.second);
    text += line;
  }
  return text;
}

}  // namespace kw
