// For tests without a GPU: the functions of NCCL that nccl_library.h names, over host memory, for ranks that are
// threads of one process. KERNELWRIGHT_NCCL names this library. As NCCL's that do not block, calls return at once and
// are in progress until all ranks have made them; whoever comes last does the work for all.

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int success = 0, system_error = 2, invalid_usage = 5, in_progress = 7;
constexpr int float32 = 7, bfloat16 = 9;

enum class Kind { reduce_scatter, all_gather, reduce, broadcast };

struct Call {
  Kind kind = Kind::broadcast;
  std::size_t count = 0;
  int type = 0, root = 0;
  bool same_as(const Call& other) const {
    return kind == other.kind && count == other.count && type == other.type && root == other.root;
  }
};

// One collective, as far as ranks have come to it.
struct Meeting {
  Call call;
  std::vector<const void*> from;
  std::vector<void*> into;
  int arrived = 0;
  bool done = false;
};

struct World {
  std::mutex mutex;
  int size = 0, joined = 0;
  int error = success;
  std::vector<Meeting> meetings;
};

struct Rank {
  std::shared_ptr<World> world;
  int number = 0;
  std::size_t calls = 0;
};

struct UniqueId {
  std::array<char, 128> bytes;
};

std::map<std::string, std::shared_ptr<World>>& worlds() {
  static std::map<std::string, std::shared_ptr<World>> all;
  return all;
}
std::mutex& worlds_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::vector<float> sum_of(const Meeting& meeting, std::size_t begin, std::size_t count) {
  std::vector<float> sum(count, 0.0f);
  for (const void* from : meeting.from)
    for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<const float*>(from)[begin + i];
  return sum;
}

void hold(Meeting& meeting) {
  const Call& call = meeting.call;
  const std::size_t bytes = call.count * (call.type == float32 ? 4 : 2);
  const std::size_t ranks = meeting.from.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    switch (call.kind) {
      case Kind::reduce_scatter:
        std::memcpy(meeting.into[rank], sum_of(meeting, rank * call.count, call.count).data(), bytes);
        break;
      case Kind::all_gather:
        for (std::size_t other = 0; other < ranks; ++other)
          std::memmove(static_cast<char*>(meeting.into[other]) + rank * bytes, meeting.from[rank], bytes);
        break;
      case Kind::reduce:
        if (rank == static_cast<std::size_t>(call.root))
          std::memcpy(meeting.into[rank], sum_of(meeting, 0, call.count).data(), bytes);
        break;
      case Kind::broadcast:
        std::memmove(meeting.into[rank], meeting.from[static_cast<std::size_t>(call.root)], bytes);
        break;
    }
  }
}

int meet(Rank& rank, const Call& call, const void* from, void* into) {
  World& world = *rank.world;
  const std::lock_guard lock(world.mutex);
  const bool sums = call.kind == Kind::reduce || call.kind == Kind::reduce_scatter;
  if (call.type != float32 && (call.type != bfloat16 || sums)) return invalid_usage;
  if (world.meetings.size() == rank.calls) {
    auto& made = world.meetings.emplace_back();
    made.call = call;
    made.from.resize(static_cast<std::size_t>(world.size));
    made.into.resize(static_cast<std::size_t>(world.size));
  }
  Meeting& meeting = world.meetings[rank.calls++];
  if (!meeting.call.same_as(call)) world.error = invalid_usage;  // the real one would hang, or mix them up
  meeting.from[static_cast<std::size_t>(rank.number)] = from;
  meeting.into[static_cast<std::size_t>(rank.number)] = into;
  if (world.error != success) return world.error;
  if (++meeting.arrived < world.size) return in_progress;
  hold(meeting);
  meeting.done = true;
  return success;
}

int state_of(const Rank& rank) {
  World& world = *rank.world;
  const std::lock_guard lock(world.mutex);
  if (world.error != success) return world.error;
  if (world.joined < world.size) return in_progress;
  return rank.calls == 0 || world.meetings[rank.calls - 1].done ? success : in_progress;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int ncclGetVersion(int* version) {
  *version = 21400;
  return success;
}

EXPORTED int ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard lock(worlds_mutex());
  static int made = 0;
  id->bytes.fill(0);
  const std::string name = "emulated " + std::to_string(++made);
  std::memcpy(id->bytes.data(), name.data(), name.size());
  worlds()[name] = std::make_shared<World>();
  return success;
}

EXPORTED int ncclCommInitRankConfig(void** made, int size, UniqueId id, int number, const void*) {
  const std::lock_guard lock(worlds_mutex());
  const auto found = worlds().find(id.bytes.data());
  if (found == worlds().end()) return invalid_usage;
  const std::lock_guard world_lock(found->second->mutex);
  found->second->size = size;
  ++found->second->joined;
  *made = new Rank{found->second, number, 0};
  return in_progress;
}

EXPORTED int ncclReduceScatter(const void* from, void* into, std::size_t count, int type, int, void* rank, void*) {
  return meet(*static_cast<Rank*>(rank), {Kind::reduce_scatter, count, type, 0}, from, into);
}
EXPORTED int ncclAllGather(const void* from, void* into, std::size_t count, int type, void* rank, void*) {
  return meet(*static_cast<Rank*>(rank), {Kind::all_gather, count, type, 0}, from, into);
}
EXPORTED int ncclReduce(const void* from, void* into, std::size_t count, int type, int, int root, void* rank, void*) {
  return meet(*static_cast<Rank*>(rank), {Kind::reduce, count, type, root}, from, into);
}
EXPORTED int ncclBroadcast(const void* from, void* into, std::size_t count, int type, int root, void* rank, void*) {
  return meet(*static_cast<Rank*>(rank), {Kind::broadcast, count, type, root}, from, into);
}

// Calls are in progress anyway until all ranks have come.
EXPORTED int ncclGroupStart() { return success; }
EXPORTED int ncclGroupEnd() { return in_progress; }

EXPORTED int ncclCommGetAsyncError(void* rank, int* state) {
  *state = state_of(*static_cast<Rank*>(rank));
  return success;
}
EXPORTED int ncclCommFinalize(void* rank) { return state_of(*static_cast<Rank*>(rank)); }
EXPORTED int ncclCommDestroy(void* rank) {
  delete static_cast<Rank*>(rank);
  return success;
}
EXPORTED int ncclCommAbort(void* rank) {
  World& world = *static_cast<Rank*>(rank)->world;
  {
    const std::lock_guard lock(world.mutex);
    world.error = system_error;
  }
  delete static_cast<Rank*>(rank);
  return success;
}
EXPORTED const char* ncclGetErrorString(int result) {
  return result == invalid_usage ? "invalid usage" : "unhandled system error";
}
EXPORTED const char* ncclGetLastError(void*) { return ""; }
