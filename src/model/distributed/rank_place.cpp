#include "model/distributed/rank_place.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/hash.h"

namespace kw {
namespace {

constexpr std::size_t longest_value = 4096;

Error nonsense(const std::string& name, const std::string& value, const std::string& why) {
  return {"the environment's " + name + "=" + value.substr(0, 80) + " makes no sense: " + why,
          "unset it, or correct it",
          {}};
}

// The names of one launcher; null: it has none.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* job;
};

// srun sets SLURM_STEP_NUM_TASKS, sbatch does not: the script itself is no rank, whatever its other variables say.
constexpr Names launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"OpenMPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_JOB_ID"},
};

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  std::optional<std::string> text(const char* name) const {
    if (name == nullptr) return std::nullopt;
    auto value = environment_(name);
    if (value && value->empty()) return std::nullopt;
    return value;
  }

  Result<std::optional<int>> whole(const char* name, int least, int most) const {
    const auto value = text(name);
    if (!value) return std::optional<int>();
    int number = 0;
    const auto [end, failed] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (failed != std::errc() || end != value->data() + value->size())
      return nonsense(name, *value, "it is no whole number");
    if (number < least || number > most)
      return nonsense(name, *value, "it may be " + std::to_string(least) + " to " + std::to_string(most));
    return std::optional(number);
  }

  Result<double> seconds(const char* name, double otherwise) const {
    const auto value = text(name);
    if (!value) return otherwise;
    char* end = nullptr;
    const double number = std::strtod(value->c_str(), &end);
    if (*end != '\0' || !std::isfinite(number) || number < 0.1 || number > 7 * 86400.0)
      return nonsense(name, *value, "it is no number of seconds from 0.1 to a week");
    return number;
  }

 private:
  const Environment& environment_;
};

Result<void> set_address(const Reader& reader, const Names& names, RankPlace& place) {
  const bool slurm = place.launcher == "Slurm";
  if (const auto address = reader.text("MASTER_ADDR")) {
    if (address->size() > 255) return nonsense("MASTER_ADDR", *address, "it is too long");
    place.address = *address;
  } else if (slurm) {
    const auto list = reader.text("SLURM_STEP_NODELIST");
    place.address = list ? first_slurm_host(*list) : "";
    if (place.address.empty())
      return Error{
          "no MASTER_ADDR is set, and Slurm's list of nodes cannot be read", "set MASTER_ADDR to rank 0's host", {}};
  } else if (place.local_size < place.size) {
    return Error{"the ranks are on several machines and no MASTER_ADDR is set",
                 "pass rank 0's host, as in mpirun -x MASTER_ADDR=HOST",
                 {}};
  }
  KW_TRY(const auto port, reader.whole("MASTER_PORT", 1, 65535));
  if (port) {
    place.port = *port;
  } else if (const auto job = reader.text(names.job)) {
    // Jobs that share a machine should not look for each other's ports first.
    place.port = 29500 + static_cast<int>(checksum64(*job) % 2000) * 16;
  }
  // torchrun's own store listens at the port that it names.
  if (reader.text("TORCHELASTIC_RUN_ID")) place.port = place.port < 65000 ? place.port + 1 : place.port - 64;
  return {};
}

}  // namespace

std::string first_slurm_host(const std::string& list) {
  if (list.size() > longest_value) return "";
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (comma < bracket || bracket == std::string::npos) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  const std::size_t close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos) return "";
  const std::size_t rest = std::min(list.find(',', close), list.size());
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
         list.substr(close + 1, rest - close - 1);
}

Result<std::optional<RankPlace>> rank_place(const Environment& environment) {
  const Reader reader(environment);
  for (const Names& names : launchers) {
    KW_TRY(const auto size, reader.whole(names.size, 1, most_ranks));
    if (!size) continue;
    RankPlace place;
    place.launcher = names.launcher;
    place.size = *size;
    KW_TRY(const auto rank, reader.whole(names.rank, 0, place.size - 1));
    if (!rank) return Error{std::string(names.size) + " is set and " + names.rank + " is not", "", {}};
    place.rank = *rank;
    KW_TRY(const auto local_size, reader.whole(names.local_size, 1, place.size));
    KW_TRY(const auto tasks_here,
           reader.whole(place.launcher == "Slurm" ? "SLURM_NTASKS_PER_NODE" : nullptr, 1, most_ranks));
    place.local_size = local_size.value_or(std::min(tasks_here.value_or(place.size), place.size));
    KW_TRY(const auto local_rank, reader.whole(names.local_rank, 0, most_ranks));
    place.local_rank = local_rank.value_or(place.rank % place.local_size);
    place.job = reader.text(names.job).value_or("");
    if (place.job.size() > longest_value) return nonsense(names.job, place.job, "it is too long");
    KW_TRY_VOID(set_address(reader, names, place));
    place.secret = reader.text("KERNELWRIGHT_RANKS_SECRET").value_or("");
    KW_TRY(place.join_s, reader.seconds("KERNELWRIGHT_RANKS_JOIN_S", place.join_s));
    KW_TRY(place.deadline_s, reader.seconds("KERNELWRIGHT_RANKS_DEADLINE_S", place.deadline_s));
    // One task of Slurm is the usual way to start any program there: nobody asked for ranks.
    if (place.launcher == "Slurm" && place.size == 1) return std::optional<RankPlace>();
    return std::optional(std::move(place));
  }
  return std::optional<RankPlace>();
}

Result<std::optional<RankPlace>> rank_place() {
  return rank_place([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace kw
