#include "app/cli/process_time.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace kw::cli {
namespace {

struct ProcessTimes {
  int parent = 0;
  double cpu_s = 0;
};

// proc(5): the name stands in brackets and may hold anything, so fields are counted from the last one.
bool read_times(const std::filesystem::path& stat, ProcessTimes& times) {
  std::ifstream file(stat);
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(line.substr(name_end + 1));
  std::string state, skipped;
  fields >> state >> times.parent;
  for (int field = 5; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0, children_user = 0, children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  times.cpu_s = (user + system + children_user + children_system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<bool>(fields);
}

}  // namespace

double process_tree_cpu_s() {
  std::map<int, ProcessTimes> all;
  std::error_code failure;
  for (std::filesystem::directory_iterator at("/proc", failure), end; !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename().string();
    int id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ptr != name.data() + name.size()) continue;
    ProcessTimes times;
    if (read_times(at->path() / "stat", times)) all[id] = times;
  }
  const int self = static_cast<int>(::getpid());
  double seconds = 0;
  for (const auto& [id, times] : all) {
    int above = id;
    for (int steps = 0; above != self && above > 1 && steps < 64; ++steps) {
      const auto found = all.find(above);
      above = found == all.end() ? 0 : found->second.parent;
    }
    if (above == self) seconds += times.cpu_s;
  }
  return seconds;
}

}  // namespace kw::cli
