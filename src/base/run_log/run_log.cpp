#include "base/run_log/run_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/file.h"
#include "base/file_error.h"
#include "base/log.h"
#include "base/page/event_file.h"
#include "base/run_log/json_text.h"
#include "base/run_log/machine_facts.h"
#include "base/run_log/metric_lines.h"
#include "base/run_log/run_store.h"
#include "base/unfinished_files.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t tag_limit_bytes = 200;
constexpr std::size_t name_limit_bytes = 200;

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

bool is_run_name(std::string_view name) {
  if (name.empty() || name.size() > name_limit_bytes) return false;
  for (const fs::path& part : fs::path(name))
    if (part.empty() || part.string().starts_with('.')) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") ==
             std::string_view::npos &&
         name.front() != '/' && name.back() != '/';
}

Result<void> check_tag(std::string_view tag) {
  if (tag.empty() || tag.size() > tag_limit_bytes || tag == "step")
    return Error{"a metric cannot be called '" + std::string(tag.substr(0, 80)) + "'", "write it like train/loss", {}};
  return {};
}

// The runs' folder: the run's without its name.
fs::path parent_of(const RunLogOptions& options) {
  fs::path folder = fs::absolute(options.folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (("/" + folder.generic_string()).ends_with("/" + options.name)) {
    for ([[maybe_unused]] const fs::path& part : fs::path(options.name)) folder = folder.parent_path();
    return folder;
  }
  return folder.parent_path();
}

class LoggedRun final : public RunLog {
 public:
  LoggedRun(RunRecord record, RunStore store, LineFile lines, EventFile events, int lock)
      : record_(std::move(record)),
        busy_before_s_(record_.busy_s),
        store_(std::move(store)),
        lines_(std::move(lines)),
        events_(std::move(events)),
        lock_(lock) {}

  // Not finished: stopped by an error of its caller. The store says "running", and who asks sees that nobody holds it.
  ~LoggedRun() override {
    (void)update().ok();
    ::close(lock_);
  }

  Result<void> metrics(std::int64_t step, const Metrics& metrics) override {
    for (const auto& [tag, value] : metrics) KW_TRY_VOID(check_tag(tag));
    KW_TRY_VOID(lines_.add(metric_line(step, metrics)));
    KW_TRY_VOID(events_.write(step, metrics));
    return store_.add_metrics(record_.id, step, metrics, now_s());
  }

  Result<void> text(std::int64_t step, std::string_view tag, std::string_view text) override {
    KW_TRY_VOID(check_tag(tag));
    const RunText entry{step, std::string(tag), std::string(text)};
    KW_TRY_VOID(lines_.add(text_line(entry)));
    KW_TRY_VOID(events_.write_text(step, tag, text));
    return store_.add_text(record_.id, entry);
  }

  Result<void> flush() override {
    KW_TRY_VOID(update());
    KW_TRY_VOID(lines_.sync());
    KW_TRY_VOID(events_.sync());
    return store_.sync();
  }

  Result<void> set_configuration(const nlohmann::ordered_json& configuration) override {
    record_.configuration = configuration;
    KW_TRY_VOID(
        write_file_atomic(record_.folder / "config.json", json_text(configuration, 2) + "\n", Durability::power_loss));
    return update();
  }

  Result<void> finish(std::string_view status, const nlohmann::ordered_json& summary) override {
    record_.status = status;
    record_.summary = summary;
    KW_TRY_VOID(write_file_atomic(record_.folder / "summary.json", json_text(summary, 2) + "\n"));
    return flush();
  }

 private:
  Result<void> update() {
    record_.updated_s = now_s();
    record_.busy_s = busy_before_s_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - opened_).count();
    return store_.update(record_);
  }

  RunRecord record_;
  double busy_before_s_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  RunStore store_;
  LineFile lines_;
  EventFile events_;
  int lock_;
};

class Lock {
 public:
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

Result<Lock> lock_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Error{"cannot open the folder " + folder.string(), "", {}};
  Lock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return Error{"another process is writing the run " + folder.string(), "wait for it, or stop it", {}};
  return lock;
}

Result<void> write_configuration(const fs::path& path, const nlohmann::ordered_json& configuration, bool resumed) {
  const std::string text = json_text(configuration, 2) + "\n";
  if (resumed && fs::exists(path)) {
    const auto before = read_file(path);
    if (before.ok() && *before != text) log_event(LogLevel::warn, "configuration_changed", {{"file", path.string()}});
  }
  return write_file_atomic(path, text, Durability::power_loss);
}

// The run's row; of one that the store does not know (a folder that was copied, a store that was lost) what its lines
// say.
Result<RunRecord> resumed_record(RunStore& store, const RunLogOptions& options, std::int64_t last_step,
                                 const std::vector<LoggedLine>& lines) {
  KW_TRY(auto found, store.find(options.name));
  if (found) {
    KW_TRY_VOID(store.drop_after(found->id, last_step));
    return std::move(*found);
  }
  RunRecord record{.name = options.name,
                   .kind = options.kind,
                   .folder = options.folder,
                   .status = "running",
                   .started_s = now_s(),
                   .updated_s = now_s(),
                   .configuration = {},
                   .machine = {},
                   .summary = {}};
  KW_TRY(record.id, store.add(record));
  for (const LoggedLine& line : lines) {
    if (!line.metrics.empty()) KW_TRY_VOID(store.add_metrics(record.id, line.step, line.metrics, now_s()));
    for (const RunText& text : line.texts) KW_TRY_VOID(store.add_text(record.id, text));
  }
  return record;
}

}  // namespace

Result<std::unique_ptr<RunLog>> RunLog::open(const RunLogOptions& options) {
  if (!is_run_name(options.name))
    return Error{"'" + options.name.substr(0, 80) + "' cannot be the name of a run",
                 "letters, digits, '.', '_', '-', and '/' between parts that do not begin with a point",
                 {}};
  const bool resumed = options.resume_after_step >= 0 || options.restart;
  const std::int64_t last_step = options.restart ? -1 : options.resume_after_step;
  std::error_code failure;
  fs::create_directories(options.folder, failure);
  if (failure) return file_error("cannot make the folder", options.folder, failure.value());
  KW_TRY(Lock lock, lock_folder(options.folder));
  if (!resumed && (fs::exists(options.folder / "config.json") || fs::exists(options.folder / "metrics.jsonl")))
    return Error{options.folder.string() + " holds a run already", "choose another name, or resume it", {}};
  KW_TRY(RunStore store, RunStore::open(parent_of(options)));

  RunRecord record{.name = options.name,
                   .kind = options.kind,
                   .folder = fs::absolute(options.folder),
                   .status = "running",
                   .started_s = now_s(),
                   .updated_s = now_s(),
                   .configuration = options.configuration,
                   .machine = machine_facts(),
                   .summary = {}};
  if (resumed) {
    remove_unfinished_files(options.folder);
    KW_TRY(const auto lines, drop_lines_after(options.folder / "metrics.jsonl", last_step));
    KW_TRY_VOID(drop_events_after(options.folder, last_step));
    KW_TRY(const RunRecord before, resumed_record(store, options, last_step, lines));
    record.id = before.id;
    record.started_s = before.started_s;
    record.busy_s = before.busy_s;
    KW_TRY_VOID(store.update(record));
  } else {
    KW_TRY(record.id, store.add(record));
  }
  KW_TRY_VOID(write_configuration(options.folder / "config.json", options.configuration, resumed));
  KW_TRY_VOID(write_file_atomic(options.folder / "machine.json", json_text(record.machine, 2) + "\n"));
  KW_TRY(LineFile lines, LineFile::append_to(options.folder / "metrics.jsonl"));
  KW_TRY(EventFile events, EventFile::create(options.folder));
  return std::unique_ptr<RunLog>(std::make_unique<LoggedRun>(std::move(record), std::move(store), std::move(lines),
                                                             std::move(events), lock.release()));
}

bool is_being_written(const fs::path& run_folder) {
  const int descriptor = ::open(run_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  return !free;
}

fs::path runs_folder() {
  const char* chosen = std::getenv("KERNELWRIGHT_RUNS");
  return chosen != nullptr && *chosen != '\0' ? fs::path(chosen) : fs::path("runs");
}

}  // namespace kw
