// PTX from a mutator that mostly keeps it valid: whatever a kernel does, the emulator neither crashes nor hangs, says
// the same when asked again, and never leaves the memory that it was given.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "kernel/emulate/emulator.h"
#include "kernel/emulate/ptx_mutator.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace kw;

constexpr std::uint64_t allocation_bytes = 1024;
constexpr std::int64_t instruction_limit = 400;  // of a warp, for the launch
constexpr std::uint64_t program_limit = 1024;    // instructions; larger programs only cost time

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::size_t give(const std::string& text, std::uint8_t* data, std::size_t max_size) {
  std::size_t size = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), size);
  return size;
}

// Pointers to the allocations in turn, small numbers for everything else.
std::vector<std::string> parameters_of(const Program& program, const std::uint64_t (&pointers)[3]) {
  std::vector<std::string> parameters;
  std::size_t next = 0;
  for (const PtxVariable& parameter : program.parameters) {
    std::uint64_t bytes = parameter.bytes != 0 ? parameter.bytes : static_cast<std::uint64_t>(bytes_of(parameter.type));
    std::string value(bytes, '\0');
    std::uint64_t number = bytes == 8 ? pointers[next++ % 3] : 40;
    std::memcpy(value.data(), &number, std::min<std::uint64_t>(bytes, sizeof number));
    parameters.push_back(value);
  }
  return parameters;
}

void run(const LoadedModule& module, const std::string& kernel) {
  auto program = module.program(kernel);
  if (!program.ok()) {
    KW_CHECK(!program.error().message.empty());
    return;
  }
  if ((*program)->origins.size() > program_limit) return;
  RunStatus first = RunStatus::ok;
  const std::uint64_t schedules = (*program)->origins.size() % 4 == 0 ? 3 : 2;
  for (std::uint64_t schedule = 0; schedule < schedules; ++schedule) {
    MemoryLimits memory_limits;
    memory_limits.total_bytes = 1 << 20;
    DeviceMemory memory(memory_limits);
    std::uint64_t pointers[3];
    const char* names[3] = {"input", "output", "scratch"};
    for (int i = 0; i < 3; ++i)
      pointers[i] = memory
                        .allocate(allocation_bytes, names[i],
                                  i == 0 ? MemoryAccessRight::read_only : MemoryAccessRight::read_write)
                        .value();
    KW_CHECK(memory.write(pointers[0], std::string(allocation_bytes, '\3')).ok());
    KW_CHECK(memory.fill(pointers[2], 0, allocation_bytes / 2).ok());
    LaunchArguments launch;
    launch.kernel = kernel;
    launch.grid = {2, 1, 1};
    launch.block = {40, 1, 1};
    launch.dynamic_shared_bytes = 256;
    launch.parameters = parameters_of(**program, pointers);
    RunLimits limits;
    limits.warp_instructions = instruction_limit;
    limits.findings = 4;
    limits.faulting_instructions = 40;
    RunOptions options;
    // The third run, which not every program gets, repeats the first.
    options.warp_order_seed = schedule == 1 ? 7 : 0;
    options.block_order_seed = schedule == 1 ? 7 : 0;
    auto result = module.run(memory, launch, limits, options);
    if (!result.ok()) {
      KW_CHECK(!result.error().message.empty());
      return;
    }
    KW_CHECK((result->status == RunStatus::unsupported) == !result->unsupported.empty());
    KW_CHECK(result->status == RunStatus::ok || !result->findings.empty());
    KW_CHECK(result->findings.size() <= limits.findings);
    KW_CHECK(result->statistics.warp_instructions <= static_cast<std::uint64_t>(instruction_limit));
    // What may only be read is as it was.
    KW_CHECK(memory.read(pointers[0], allocation_bytes).value() == std::string(allocation_bytes, '\3'));
    if (schedule == 0) first = result->status;
    if (schedule == 2) KW_CHECK(result->status == first);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto module = LoadedModule::load(text_of(data, size));
  if (!module.ok()) return 0;
  int left = 2;
  for (const std::string& kernel : module->kernels())
    if (left-- > 0) run(*module, kernel);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (seed % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
  PtxMutator mutator(text_of(data, size), seed);
  mutator.mutate();
  return give(mutator.text(), data, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned int seed) {
  PtxMutator mutator(text_of(first, first_size), seed);
  mutator.take_from(PtxMutator(text_of(second, second_size), seed));
  return give(mutator.text(), out, max_size);
}
