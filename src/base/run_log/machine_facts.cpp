#include "base/run_log/machine_facts.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace kw {
namespace {

// "Model: \t NVIDIA H200" in a file of such lines.
std::string value_in(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    if (line.find(':') != std::string::npos && start != std::string::npos) return line.substr(start);
  }
  return "";
}

// Cores that this process may use: a container often has fewer than the machine.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

std::vector<std::string> gpus() {
  std::vector<std::string> models;
  std::error_code none;
  for (std::filesystem::directory_iterator entry("/proc/driver/nvidia/gpus", none);
       !none && entry != std::filesystem::directory_iterator(); entry.increment(none))
    models.push_back(value_in(entry->path() / "information", "Model"));
  std::ranges::sort(models);
  return models;
}

}  // namespace

nlohmann::ordered_json machine_facts() {
  struct sysinfo memory {};
  ::sysinfo(&memory);
  struct utsname system {};
  ::uname(&system);
  std::ifstream driver("/proc/driver/nvidia/version");
  nlohmann::ordered_json facts = {
      {"processor", value_in("/proc/cpuinfo", "model name")},
      {"cores", usable_cores()},
      {"memory_bytes", static_cast<std::uint64_t>(memory.totalram) * memory.mem_unit},
      {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
      {"gpus", gpus()},
      {"compiler", __VERSION__},
  };
  if (std::string line; std::getline(driver, line)) facts["driver"] = line;
  return facts;
}

}  // namespace kw
