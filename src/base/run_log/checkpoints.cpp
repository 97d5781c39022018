#include "base/run_log/checkpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/file_error.h"
#include "base/log.h"
#include "base/run_log/folder_manifest.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view whole_prefix = "step-";
constexpr std::string_view saving_prefix = ".saving-";
constexpr std::string_view replaced_prefix = ".replaced-";

std::string name_of(std::int64_t step) { return fmt::format("{}{:09}", whole_prefix, step); }

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(whole_prefix)) return {};
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(name.data() + whole_prefix.size(), end, step);
  if (code != std::errc() || stop != end || step < 0 || name_of(step) != name) return {};
  return step;
}

Result<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure); !failure && entry != fs::directory_iterator();
       entry.increment(failure))
    names.push_back(entry->path().filename().string());
  if (failure) return Error{"cannot list " + folder.string() + ": " + failure.message(), "", {}};
  std::ranges::sort(names);
  return names;
}

// Newest first.
Result<std::vector<std::pair<std::int64_t, fs::path>>> steps_in(const fs::path& folder) {
  KW_TRY(const auto names, names_in(folder));
  std::vector<std::pair<std::int64_t, fs::path>> steps;
  for (const auto& name : names)
    if (const auto step = step_of(name)) steps.emplace_back(*step, folder / name);
  std::ranges::sort(steps, std::ranges::greater());
  return steps;
}

// Held while a folder is filled, and let go by the system when the process dies: so another process can tell a save
// that goes on from one that was interrupted.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    locked_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool locked() const { return locked_; }

 private:
  int descriptor_;
  bool locked_ = false;
};

// Between making and locking, a process that cleans up may take the folder for one that was left: then again.
Result<std::unique_ptr<FolderLock>> make_locked_folder(const fs::path& folder) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure) return file_error("cannot make the folder", folder, failure.value());
    auto lock = std::make_unique<FolderLock>(folder);
    if (lock->locked() && fs::exists(folder, failure)) return lock;
  }
  return Error{"cannot lock " + folder.string(), "does another process save to the same place?", {}};
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;  // it is only in the way; the next open tries again
  fs::remove_all(path, ignored);
}

// A folder is first renamed, so that a kill in the middle of removing it leaves nothing that looks like a checkpoint.
void remove_checkpoint(const fs::path& path) {
  const fs::path aside = path.parent_path() / (std::string(saving_prefix) + "removed-" + path.filename().string());
  remove_quietly(aside);
  std::error_code failure;
  fs::rename(path, aside, failure);
  remove_quietly(failure ? path : aside);
}

Result<Checkpoint> read_checkpoint(const fs::path& path, std::int64_t step, Verify how) {
  KW_TRY(FolderManifest manifest, verify_folder(path, how));
  Json& about = manifest.about;
  if (!about.is_object() || about.value("step", Json()) != step || !about.contains("facts"))
    return Error{path.string() + " does not describe step " + std::to_string(step), "", {}};
  Checkpoint checkpoint{.step = step, .score = {}, .facts = std::move(about["facts"]), .folder = path};
  if (about.contains("score") && about["score"].is_number()) checkpoint.score = about["score"].get<double>();
  return checkpoint;
}

void warn_damaged(const fs::path& path, const Error& error) {
  log_event(LogLevel::warn, "checkpoint_damaged", {{"folder", path.string()}, {"reason", error.message}});
}

// The first that reached the highest score; `oldest_first` without damaged ones.
const Checkpoint* best_of(const std::vector<Checkpoint>& oldest_first) {
  const Checkpoint* best = nullptr;
  for (const auto& one : oldest_first)
    if (one.score && (best == nullptr || *one.score > *best->score)) best = &one;
  return best;
}

// `made` becomes `place`; a checkpoint of the same step that is there already makes room in one step where the file
// system can exchange names, otherwise open() brings it back after a kill between the two renames.
Result<void> put_in_place(const fs::path& made, const fs::path& place) {
  const auto failed = [&] { return file_error("cannot rename to", place, errno); };
  if (!fs::exists(place)) return ::rename(made.c_str(), place.c_str()) == 0 ? Result<void>() : failed();
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) {
    remove_quietly(made);
    return {};
  }
  const fs::path aside = place.parent_path() / (std::string(replaced_prefix) + place.filename().string());
  remove_quietly(aside);
  if (::rename(place.c_str(), aside.c_str()) != 0) return failed();
  if (::rename(made.c_str(), place.c_str()) != 0) {
    const Error error = failed();
    ::rename(aside.c_str(), place.c_str());
    return error;
  }
  remove_quietly(aside);
  return {};
}

}  // namespace

Result<Checkpoints> Checkpoints::open(const fs::path& folder, CheckpointOptions options) {
  KW_CHECK(options.keep_last >= 1);
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return file_error("cannot make the folder", folder, failure.value());
  KW_TRY(const auto names, names_in(folder));
  for (const auto& name : names) {
    if (name.starts_with(replaced_prefix)) {
      const fs::path place = folder / name.substr(replaced_prefix.size());
      if (!fs::exists(place, failure)) fs::rename(folder / name, place, failure);
      remove_quietly(folder / name);
    }
    if (!name.starts_with(saving_prefix)) continue;
    if (const FolderLock lock(folder / name); lock.locked()) remove_quietly(folder / name);
  }
  return Checkpoints(folder, options);
}

Result<Checkpoint> Checkpoints::save(std::int64_t step, std::optional<double> score, const Json& facts,
                                     const std::function<Result<void>(const fs::path&)>& write) {
  KW_CHECK(step >= 0);
  if (score && !std::isfinite(*score)) score.reset();
  const fs::path saving = folder_ / fmt::format("{}{}-{}", saving_prefix, name_of(step), ::getpid());
  remove_quietly(saving);
  KW_TRY(const auto lock, make_locked_folder(saving));
  const auto steps = [&]() -> Result<void> {
    KW_TRY_VOID(write(saving));
    Json about = {{"step", step}, {"score", score ? Json(*score) : Json()}, {"facts", facts}};
    KW_TRY(const auto sealed, seal_folder(saving, about));
    (void)sealed;
    KW_TRY_VOID(put_in_place(saving, folder_ / name_of(step)));
    return sync_folder(folder_);
  }();
  if (!steps.ok()) {
    remove_quietly(saving);
    return Error{"checkpoint of step " + std::to_string(step) + ": " + steps.error().message, steps.error().advice, {}};
  }
  Checkpoint saved{.step = step, .score = score, .facts = facts, .folder = folder_ / name_of(step)};
  KW_TRY_VOID(remove_others(saved));
  return saved;
}

Result<void> Checkpoints::remove_others(const Checkpoint& saved) const {
  KW_TRY(const auto steps, steps_in(folder_));
  std::vector<Checkpoint> whole;  // oldest first
  for (const auto& [step, path] : steps) {
    if (step > saved.step) {
      remove_checkpoint(path);
      continue;
    }
    if (auto one = read_checkpoint(path, step, Verify::sizes); one.ok()) whole.insert(whole.begin(), std::move(*one));
  }
  const auto count = static_cast<std::int64_t>(whole.size());
  const Checkpoint* best = options_.keep_best ? best_of(whole) : nullptr;
  for (std::int64_t i = 0; i + options_.keep_last < count; ++i) {
    const Checkpoint& one = whole[static_cast<std::size_t>(i)];
    if (&one != best) remove_checkpoint(one.folder);
  }
  // Damaged ones are left for a person to look at until enough whole ones are newer.
  if (count < options_.keep_last) return {};
  const std::int64_t oldest_kept = whole[static_cast<std::size_t>(count - options_.keep_last)].step;
  for (const auto& [step, path] : steps) {
    const bool is_whole = std::ranges::count(whole, path, &Checkpoint::folder) > 0;
    if (step < oldest_kept && !is_whole) remove_checkpoint(path);
  }
  return {};
}

Result<std::vector<Checkpoint>> Checkpoints::list() const {
  KW_TRY(const auto steps, steps_in(folder_));
  std::vector<Checkpoint> whole;
  for (const auto& [step, path] : steps) {
    auto one = read_checkpoint(path, step, Verify::sizes);
    if (one.ok())
      whole.insert(whole.begin(), std::move(*one));
    else
      warn_damaged(path, one.error());
  }
  return whole;
}

Result<std::optional<Checkpoint>> Checkpoints::latest() const {
  KW_TRY(const auto steps, steps_in(folder_));
  for (const auto& [step, path] : steps) {
    auto one = read_checkpoint(path, step, Verify::checksums);
    if (one.ok()) return std::optional(std::move(*one));
    warn_damaged(path, one.error());
  }
  // To begin again, over what the run has logged, is for a person to decide.
  if (!steps.empty())
    return Error{"all checkpoints of " + folder_.string() + " are damaged",
                 "bring back a copy, or remove that folder to begin again",
                 {}};
  return std::optional<Checkpoint>();
}

Result<std::optional<Checkpoint>> Checkpoints::best() const {
  KW_TRY(std::vector<Checkpoint> whole, list());
  while (const Checkpoint* best = best_of(whole)) {
    auto one = read_checkpoint(best->folder, best->step, Verify::checksums);
    if (one.ok()) return std::optional(std::move(*one));
    warn_damaged(best->folder, one.error());
    whole.erase(whole.begin() + (best - whole.data()));
  }
  return std::optional<Checkpoint>();
}

}  // namespace kw
