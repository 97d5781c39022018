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

// As the kernel module lists them; 0 where it does not.
int gpus_of_machine() {
  int count = 0;
  std::error_code none;
  for (std::filesystem::directory_iterator each("/proc/driver/nvidia/gpus", none), end; !none && each != end;
       each.increment(none))
    ++count;
  return count;
}

}  // namespace

Result<void> choose_gpu(int number) {
  if (number < 0) return Error{fmt::format("there is no GPU {}: they are counted from 0", number), "", {}};
  std::string chosen = std::to_string(number);
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
