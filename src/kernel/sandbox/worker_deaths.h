#pragma once
// How many worker processes of this program ended while they were needed; each was replaced. Counted for the whole
// program, from any thread: whoever looks after it (/metrics) does not know the pools.

#include <cstdint>

namespace kw {

enum class WorkerKind : std::uint8_t { compiler, reference, gpu };
void note_worker_death(WorkerKind kind);
std::uint64_t worker_deaths(WorkerKind kind);

}  // namespace kw
