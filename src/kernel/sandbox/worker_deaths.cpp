#include "kernel/sandbox/worker_deaths.h"

#include <array>
#include <atomic>

namespace kw {
namespace {

std::array<std::atomic<std::uint64_t>, 3> deaths{};

}  // namespace

void note_worker_death(WorkerKind kind) { ++deaths[static_cast<std::size_t>(kind)]; }

std::uint64_t worker_deaths(WorkerKind kind) { return deaths[static_cast<std::size_t>(kind)]; }

}  // namespace kw
