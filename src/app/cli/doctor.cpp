#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <thread>

#include "app/cli/command.h"
#include "base/child_process.h"
#include "base/file.h"
#include "base/table.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/compile/service.h"
#include "kernel/compile/whole_program.h"
#include "kernel/gpu/pool.h"
#include "kernel/performance/device_profile.h"
#include "kernel/reference/instruction_set.h"
#include "kernel/reference/reference.h"
#include "kernel/reference/reference_service.h"
#include "kernel/sandbox/protection.h"
#include "kernel/task/task_file.h"

namespace kw::cli {
namespace {

enum class Health { works, weaker, missing, optional };

struct Part {
  std::string name;
  Health health;
  std::string found;
  std::string fix;  // the command that would mend it
};

const char* word(Health health) {
  switch (health) {
    case Health::works:
      return "works";
    case Health::weaker:
      return "weaker";
    case Health::missing:
      return "MISSING";
    case Health::optional:
      return "not here";
  }
  return "";
}

Part check_processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string model = "unknown processor";
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
  const char* vectors = __builtin_cpu_supports("avx512f") ? "AVX-512"
                        : __builtin_cpu_supports("avx2")  ? "AVX2"
                                                          : "no AVX2";
  struct sysinfo memory {};
  ::sysinfo(&memory);
  const double total = static_cast<double>(memory.totalram) * memory.mem_unit;
  return {"processor", Health::works,
          fmt::format("{}, {} cores, {}, {} memory", model, std::thread::hardware_concurrency(), vectors,
                      bytes_text(total)),
          ""};
}

Part check_nvrtc() {
  const auto toolkit = find_cuda_toolkit();
  if (!toolkit.ok()) return {"compiler (NVRTC)", Health::missing, toolkit.error().message, "make setup"};
  const auto library = Nvrtc::load(toolkit->nvrtc);
  if (!library.ok()) return {"compiler (NVRTC)", Health::missing, library.error().message, "make setup"};
  const std::string found = "NVRTC " + library->version() + " at " + toolkit->nvrtc.string();
  if (toolkit->include.empty()) {
    return {"compiler (NVRTC)", Health::weaker, found + ", but no CUDA headers: cuda_fp16.h cannot be included",
            "make setup"};
  }
  return {"compiler (NVRTC)", Health::works, found, ""};
}

// The whole path: worker, sandbox, NVRTC and back.
Part check_compile_service() {
  ServiceOptions options;
  options.pool.workers = 1;
  options.disk_cache = false;
  CompileService service(options);
  CompileRequest request;
  request.source = "__global__ void probe(float* x) { x[threadIdx.x] = 1.0f; }";
  request.file_name = "probe.cu";
  request.kernels = {"probe"};
  const CompileResult result = service.compile(request);
  if (!result.ok()) {
    return {"compile service", Health::missing, result.explanation, "kernelwright --log debug doctor"};
  }
  return {"compile service", Health::works,
          fmt::format("compiled a kernel for sm_90 in {:.0f} ms in a sandboxed worker", result.compile_ms), ""};
}

bool in_container() {
  std::error_code ignored;
  return std::filesystem::exists("/.dockerenv", ignored) || std::filesystem::exists("/run/.containerenv", ignored);
}

// Docker's profiles refuse new namespaces and mounts, to root inside as well; the host's settings do not help there.
std::string sandbox_fix(const Protection& protection, bool container) {
  if (protection.own_user && protection.empty_root) return "";
  if (container)
    return "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
           "(docs/container.md); the program makes its own, narrower filter";
  return "sysctl -w kernel.unprivileged_userns_clone=1  (or kernel.apparmor_restrict_unprivileged_userns=0)";
}

Part check_sandbox() {
  const Protection protection = probe_protection();
  if (protection.full()) return {"sandbox", Health::works, "full: namespaces, system-call filter, limits", ""};
  return {"sandbox", Health::weaker, summary(protection), sandbox_fix(protection, in_container())};
}

Part check_torch() {
  const auto facts = reference_facts();
  if (!facts.ok()) return {"references (libtorch)", Health::missing, facts.error().message, facts.error().advice};
  const std::string found = fmt::format(
      "libtorch {} in a process of its own (sandbox {}), ready in {:.1f} s, {} memory; instructions: {}",
      facts->torch_version, summary(facts->protection), facts->start_ms / 1000,
      bytes_text(static_cast<double>(facts->resident_bytes)), instruction_sets()[facts->instruction_set].name);
  return {"references (libtorch)", facts->protection.full() ? Health::works : Health::weaker, found, ""};
}

Part check_suite() {
  const auto folder = suite_folder();
  if (!folder.ok()) return {"task suite", Health::missing, folder.error().message, folder.error().advice};
  const auto suite = load_suite(*folder);
  if (!suite.ok()) return {"task suite", Health::missing, suite.error().message, ""};
  std::size_t broken = 0;
  for (const SuiteEntry& entry : *suite) broken += entry.task.ok() ? 0 : 1;
  const std::string found = fmt::format("{} tasks in {}", suite->size(), folder->string());
  if (broken > 0)
    return {"task suite", Health::weaker, fmt::format("{}, {} of them broken", found, broken),
            "kernelwright tasks list"};
  return {"task suite", Health::works, found, ""};
}

Part check_cache() {
  const auto folder = cache_folder();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || ::access(folder.c_str(), W_OK) != 0) {
    return {"cache folder", Health::missing, folder.string() + " cannot be written",
            "export KERNELWRIGHT_CACHE=/a/writable/folder"};
  }
  const auto space = std::filesystem::space(folder, error);
  return {"cache folder", space.available < (1u << 30) ? Health::weaker : Health::works,
          fmt::format("{}, {} free", folder.string(), bytes_text(static_cast<double>(space.available))), ""};
}

// The vector unit that the emulator will use, and the devices whose times it can model.
Part check_emulator() {
  const char* unit = __builtin_cpu_supports("avx512f") ? "AVX-512"
                     : __builtin_cpu_supports("avx2")  ? "AVX2"
                                                       : "portable";
  const auto folder = profiles_folder();
  if (!folder.ok()) return {"emulator", Health::weaker, folder.error().message, folder.error().advice};
  std::string names;
  for (const std::string& name : profile_names(*folder))
    if (load_profile(name).ok()) names += (names.empty() ? "" : ", ") + name;
  return {"emulator", Health::works, fmt::format("{} lanes; models times of {}", unit, names), ""};
}

// The whole path: a worker opens the device, is confined, and answers.
Part check_gpu() {
  if (const auto& driver = cuda_driver(); !driver.ok())
    return {"GPU", Health::optional, "no NVIDIA driver: kernels are emulated, times are modelled", ""};
  GpuPoolOptions options;
  options.workers = 1;
  options.spares = 0;
  const auto pool = GpuPool::start(options);
  if (!pool.ok()) return {"GPU", Health::optional, pool.error().message, "nvidia-smi"};
  const GpuFacts& facts = (*pool)->facts();
  return {"GPU", facts.confined ? Health::works : Health::weaker,
          fmt::format("{}, {} multiprocessors, {} memory, driver {}.{}; worker: {}", facts.name, facts.multiprocessors,
                      bytes_text(static_cast<double>(facts.memory_bytes)), facts.driver_version / 1000,
                      facts.driver_version % 1000 / 10, facts.protection),
          facts.confined
              ? ""
              : "run as root or allow user namespaces, so that a kernel that takes over its worker finds no files"};
}

Part check_torch_on_gpu() {
  if (!cuda_driver().ok()) return {"PyTorch on the GPU", Health::optional, "no NVIDIA driver", ""};
  const auto name = gpu_available();
  if (!name.ok()) return {"PyTorch on the GPU", Health::optional, name.error().message, name.error().advice};
  return {"PyTorch on the GPU", Health::works, "references and PyTorch's own times on " + *name, ""};
}

Part check_tool(const std::string& name, const std::string& program, const std::string& without) {
  const auto outcome = run_child({{program, "--version"}, "", "", {}},
                                 {.wall = std::chrono::seconds(20), .cpu = {}, .memory_bytes = {}});
  if (!outcome.ok() || !outcome->succeeded()) return {name, Health::optional, without, ""};
  // The version is on the line that says so, for all of NVIDIA's tools.
  std::string line;
  std::istringstream lines(outcome->output);
  for (std::string each; std::getline(lines, each);) {
    if (line.empty() || each.find("elease") != std::string::npos || each.rfind("Version", 0) == 0) line = each;
  }
  return {name, Health::works, line, ""};
}

void run_doctor(Context& context) {
  const std::vector<Part> parts = {check_processor(),
                                   check_nvrtc(),
                                   check_sandbox(),
                                   check_compile_service(),
                                   check_torch(),
                                   check_suite(),
                                   check_cache(),
                                   check_emulator(),
                                   check_gpu(),
                                   check_torch_on_gpu(),
                                   check_tool("nvcc", find_nvcc().ok() ? find_nvcc()->string() : "nvcc",
                                              "not here: whole programs with host code cannot be compiled"),
                                   check_tool("profiler (ncu)", "ncu", "not on PATH: only needed to profile on a GPU")};
  bool missing = false;
  Json json = Json::array();
  Table table({"part", "state", "found", "what to do"});
  for (const Part& part : parts) {
    missing = missing || part.health == Health::missing;
    table.add({part.name, word(part.health), part.found, part.fix});
    json.push_back({{"part", part.name}, {"state", word(part.health)}, {"found", part.found}, {"fix", part.fix}});
  }
  if (context.json) {
    print_json({{"works", !missing}, {"parts", json}});
  } else {
    std::cout << table.text()
              << (missing ? "Something that is needed is missing.\n" : "Everything that is needed works.\n");
  }
  context.exit_code = missing ? exit_not_good : exit_good;
}

}  // namespace

void add_doctor_command(CLI::App& app, Context& context) {
  auto* doctor = app.add_subcommand("doctor", "What works on this machine, what is missing, and how to fix it");
  add_json_flag(*doctor, context);
  doctor->callback([&context] { run_doctor(context); });
}

}  // namespace kw::cli
