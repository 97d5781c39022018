#include "base/nearest_name.h"

#include <algorithm>

namespace kw {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view wrong, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 1 + std::max<std::size_t>(2, wrong.size() / 3);
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(wrong.substr(0, 60), std::string_view(name).substr(0, 60));
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace kw
