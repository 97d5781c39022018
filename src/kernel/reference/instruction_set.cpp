#include "kernel/reference/instruction_set.h"

#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "kernel/reference/reference_service.h"

namespace kw {
namespace {

// The same file may be seen from machines with other CPUs, and a new kernel may stop trapping.
std::string this_cpu() {
  Sha256 hash;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();)
    if (line.rfind("model name", 0) == 0 || line.rfind("flags", 0) == 0) hash.add(line);
  for (const char* path : {"/proc/sys/kernel/osrelease", "/sys/class/dmi/id/product_name"})
    if (const auto text = read_file(path, 4096); text.ok()) hash.add(*text);
  const char* chosen = std::getenv("ONEDNN_MAX_CPU_ISA");
  return hash.add(chosen != nullptr ? chosen : "").hex();
}

std::filesystem::path memory_file() { return cache_folder() / "torch_instruction_set"; }

}  // namespace

const std::vector<InstructionSet>& instruction_sets() {
  static const std::vector<InstructionSet> sets = {
      {"all that the CPU announces", {}},
      {"AVX-512 without AMX", {{"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"}, {"MKL_ENABLE_INSTRUCTIONS", "AVX512"}}},
      {"AVX2, without oneDNN",
       {{"ONEDNN_MAX_CPU_ISA", "AVX2"},
        {"ATEN_CPU_CAPABILITY", "avx2"},
        {"MKL_ENABLE_INSTRUCTIONS", "AVX2"},
        {onednn_variable, "0"}}},
      {"SSE4.2, without oneDNN",
       {{"ONEDNN_MAX_CPU_ISA", "SSE41"},
        {"ATEN_CPU_CAPABILITY", "default"},
        {"MKL_ENABLE_INSTRUCTIONS", "SSE4_2"},
        {onednn_variable, "0"}}},
  };
  return sets;
}

bool onednn_is_allowed() {
  const char* value = std::getenv(onednn_variable);
  return value == nullptr || std::string_view(value) != "0";
}

std::optional<std::size_t> remembered_instruction_set() {
  const auto text = read_file(memory_file(), 4096);
  if (!text.ok()) return std::nullopt;
  const std::string key = this_cpu() + " ";
  if (text->rfind(key, 0) != 0 || text->size() != key.size() + 1) return std::nullopt;
  const auto number = static_cast<std::size_t>(text->back() - '0');
  if (number >= instruction_sets().size()) return std::nullopt;
  return number;
}

void remember_instruction_set(std::size_t number) {
  if (remembered_instruction_set() == number) return;
  std::error_code ignored;
  std::filesystem::create_directories(memory_file().parent_path(), ignored);
  if (const auto written = write_file_atomic(memory_file(), this_cpu() + " " + std::to_string(number)); !written.ok())
    log_event(LogLevel::debug, "instruction_set_not_stored", {{"reason", written.error().message}});
}

Result<void> apply_instruction_set() {
  std::optional<std::size_t> number = remembered_instruction_set();
  if (!number) {
    KW_TRY(const ReferenceFacts facts, reference_facts());
    number = facts.instruction_set;
  }
  for (const auto& [name, value] : instruction_sets()[*number].environment) ::setenv(name.c_str(), value.c_str(), 1);
  return {};
}

}  // namespace kw
