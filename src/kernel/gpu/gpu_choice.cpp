#include "kernel/gpu/gpu_choice.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include <fmt/format.h>

namespace kw {
namespace {

constexpr const char* visible_name = "CUDA_VISIBLE_DEVICES";
// For messages: what was asked for, in this process and those that it starts.
constexpr const char* chosen_name = "KERNELWRIGHT_GPU_CHOSEN";

std::vector<std::string> entries(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) names.push_back(part);
  return names;
}

// As the kernel module lists them, or as device files are there; 0 where neither is.
int gpus_of_machine() {
  namespace fs = std::filesystem;
  int listed = 0, files = 0;
  std::error_code none;
  for (fs::directory_iterator each("/proc/driver/nvidia/gpus", none), end; !none && each != end; each.increment(none))
    ++listed;
  if (listed > 0) return listed;
  for (fs::directory_iterator each("/dev", none), end; !none && each != end; each.increment(none)) {
    const std::string name = each->path().filename().string();
    if (name.size() > 6 && name.starts_with("nvidia") && name.find_first_not_of("0123456789", 6) == std::string::npos)
      ++files;
  }
  return files;
}

}  // namespace

Result<void> choose_gpu(int number) {
  if (number < 0) return Error{fmt::format("there is no GPU {}: they are counted from 0", number), "", {}};
  std::string chosen = std::to_string(number);
  // A rank reads the arguments of the process that started it, which has chosen already.
  if (const char* before = std::getenv(chosen_name); before != nullptr && chosen == before) return {};
  if (const char* visible = std::getenv(visible_name)) {
    const auto names = entries(visible);
    if (static_cast<std::size_t>(number) >= names.size())
      return Error{
          fmt::format("there is no GPU {}: {}={} names {}", number, visible_name, visible, names.size()), "", {}};
    chosen = names[static_cast<std::size_t>(number)];
  }
  ::setenv(visible_name, chosen.c_str(), 1);
  ::setenv(chosen_name, std::to_string(number).c_str(), 1);
  return {};
}

void choose_gpu_of_rank(int local_rank) {
  if (gpu_is_chosen() || local_rank < 0) return;
  if (const char* visible = std::getenv(visible_name)) {
    const auto names = entries(visible);
    if (names.size() > 1) ::setenv(visible_name, names[static_cast<std::size_t>(local_rank) % names.size()].c_str(), 1);
  } else if (const int count = gpus_of_machine(); count > 1) {
    ::setenv(visible_name, std::to_string(local_rank % count).c_str(), 1);
  }
}

bool gpu_is_chosen() { return std::getenv(chosen_name) != nullptr; }

std::string no_such_gpu() {
  const char* chosen = std::getenv(chosen_name);
  const char* visible = std::getenv(visible_name);
  const int count = gpus_of_machine();
  const std::string machine = count > 0 ? fmt::format("the machine has {}", count) : "the driver shows none";
  if (chosen != nullptr) return fmt::format("there is no GPU {}: {}", chosen, machine);
  if (visible != nullptr)
    return fmt::format("there is no GPU that {}={} lets us see: {}", visible_name, visible, machine);
  return "there is no GPU: " + machine;
}

}  // namespace kw
