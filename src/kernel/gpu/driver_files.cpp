#include "kernel/gpu/driver_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace kw {
namespace {

namespace fs = std::filesystem;

bool is_driver_library(const std::string& name) {
  return name.starts_with("libcuda.so") || name.starts_with("libcudadebugger.so") ||
         (name.starts_with("libnvidia-") && name.find(".so") != std::string::npos);
}

// Names in `folder` that `wanted` takes; none when there is no such folder.
template <class Wanted>
void add_from(const fs::path& folder, const Wanted& wanted, std::set<std::string>& paths) {
  std::error_code gone;
  for (fs::directory_iterator each(folder, gone), end; !gone && each != end; each.increment(gone))
    if (wanted(each->path().filename().string())) paths.insert(each->path().string());
}

// Where distributions and containers put the driver, and where this process has it from.
std::set<fs::path> library_folders() {
  std::set<fs::path> folders = {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64",
                                "/usr/local/nvidia/lib64",   "/usr/local/nvidia/lib", "/usr/lib/wsl/lib",
                                "/usr/local/cuda/compat",    "/run/opengl-driver/lib"};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const fs::path file(line.substr(slash));
    if (is_driver_library(file.filename().string())) folders.insert(file.parent_path());
  }
  return folders;
}

}  // namespace

std::vector<std::string> driver_files() {
  std::set<std::string> paths = {"/dev/null",
                                 "/dev/zero",
                                 "/dev/full",
                                 "/dev/random",
                                 "/dev/urandom",
                                 "/etc/ld.so.cache",
                                 "/sys/devices/system/cpu",
                                 "/sys/devices/system/node",
                                 "/sys/devices/system/memory",
                                 "/sys/module/nvidia",
                                 "/sys/module/nvidia_uvm"};
  // /dev/nvidia0, nvidiactl, nvidia-uvm, nvidia-uvm-tools, nvidia-caps/...
  add_from("/dev", [](const std::string& name) { return name.starts_with("nvidia"); }, paths);
  for (const fs::path& folder : library_folders()) add_from(folder, is_driver_library, paths);
  return {paths.begin(), paths.end()};
}

}  // namespace kw
