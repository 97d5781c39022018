#include "kernel/performance/unmodelled.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace kw {
namespace {

// Of each warp: a fence or an ordered load now and then is how blocks hand over results, and takes little.
constexpr double most_executions = 4;

constexpr double most_swaps = 2000;  // of the whole grid, at one address

// Code is fetched through caches of about 128 KiB, 16 bytes an instruction; beyond them it comes at a twentieth of the
// pace (measured: 24 ways of a thousand instructions each take 20 ms instead of 1.1).
constexpr std::size_t most_code = 8000;  // instructions that are executed

// Accesses of a warp to local memory, when that of all resident threads is more than the L1 holds (measured: 43 ms
// instead of the 1.7 that the L2's bandwidth lets expect).
constexpr double most_local_accesses = 256;

struct Unmodelled {
  std::string_view what;
  double executions = 0;  // of a warp, of all such instructions
  double allowed = most_executions;
};

}  // namespace

std::string unmodelled_work(const DeviceProfile& device, const ProfiledLaunch& launch, const KernelProfile& profile) {
  std::vector<Unmodelled> all{
      {"prefetches", 0, 0}, {"memory fences in a loop"}, {"volatile or acquiring loads in a loop"}};
  std::size_t code = 0;
  double local_accesses = 0;
  for (std::size_t i = 0; i < profile.instructions.size(); ++i) {
    const StaticInstruction& known = profile.code->instructions[i];
    const std::string_view form = profile.code->program->origins[known.origin].form;
    const double executions = profile.instructions[i].executions / std::max<double>(profile.warps, 1);
    code += profile.instructions[i].executions > 0 ? 1 : 0;
    if (form.find(".local") != form.npos) local_accesses += executions;
    if (form.starts_with("prefetch")) all[0].executions += executions;
    if (form.starts_with("membar") || form.starts_with("fence")) all[1].executions += executions;
    const bool ordered = form.find(".volatile") != form.npos || form.find(".acquire") != form.npos;
    if (known.plain_load && ordered && form.find(".shared") == form.npos) all[2].executions += executions;
  }
  // Who loses goes round again: how often, depends on how many try at the same time.
  const bool swaps =
      std::any_of(profile.code->instructions.begin(), profile.code->instructions.end(), [&](const auto& known) {
        const std::string_view form = profile.code->program->origins[known.origin].form;
        return form.starts_with("atom") && form.find(".cas") != form.npos && form.find(".shared") == form.npos;
      });
  if (swaps && profile.hottest_updates > most_swaps) return "compare-and-swap loops at one address";
  if (code > most_code) return "more than the caches of instructions hold";
  const double local_bytes = launch.resources.stack_bytes * 32.0 * profile.warps * profile.resident_blocks;
  if (local_accesses > most_local_accesses && local_bytes > device.l1_kib * 1024)
    return "much in local memory, which is more than the L1 holds";
  for (const Unmodelled& each : all)
    if (each.executions > each.allowed) return std::string(each.what);
  return "";
}

}  // namespace kw
