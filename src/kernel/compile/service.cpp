#include "kernel/compile/service.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>

#include "base/hash.h"
#include "kernel/compile/compiler.h"
#include "kernel/compile/headers.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/compile/ptx.h"

namespace kw {
namespace {

// Part of every key: raise it when the meaning of an entry changes.
constexpr std::string_view key_version = "kernelwright compile 2";
constexpr int max_static_shared_bytes = 48 * 1024;  // on every architecture
constexpr std::size_t max_kernels = 256;
constexpr std::size_t max_kernel_name_bytes = 1024;

CompileResult failure(CompileStatus status, Error error) {
  CompileResult result;
  result.status = status;
  result.explanation = error.message;
  Diagnostic diagnostic;
  diagnostic.file = error.where.file;
  diagnostic.line = static_cast<std::uint32_t>(error.where.line);
  diagnostic.column = static_cast<std::uint32_t>(error.where.column);
  diagnostic.message = std::move(error.message);
  diagnostic.advice = std::move(error.advice);
  result.diagnostics.push_back(std::move(diagnostic));
  return result;
}

Result<void> check_request(const CompileRequest& request) {
  const Position file{request.file_name, 0, 0};
  if (request.source.size() > request.limits.source_bytes) {
    return Error{"the source has " + std::to_string(request.source.size()) + " bytes; the limit is " +
                     std::to_string(request.limits.source_bytes),
                 "make it shorter", file};
  }
  if (request.kernels.size() > max_kernels) return Error{"more than 256 kernels are asked for", "", file};
  for (const std::string& kernel : request.kernels) {
    const bool printable =
        std::all_of(kernel.begin(), kernel.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7F; });
    if (kernel.empty() || kernel.size() > max_kernel_name_bytes || !printable) {
      return Error{"a kernel name is empty, too long or not printable", "", file};
    }
  }
  return {};
}

std::string raw_key(const CompileRequest& request, std::string_view identity) {
  Sha256 hash;
  hash.add(identity).add(request.source).add(request.file_name).add(to_string(request.architecture));
  hash.add(request.want_cubin ? "cubin" : "ptx").add(request.fast_math ? "fast" : "exact");
  hash.add(std::to_string(request.limits.source_bytes));
  for (const std::string& kernel : request.kernels) hash.add(kernel);
  return std::move(hash).hex();
}

std::string canonical_key(const CompilerJob& job, std::string_view identity) {
  Sha256 hash;
  hash.add(key_version).add(identity).add(job.source);
  hash.add(std::to_string(job.options.size()));
  for (const std::string& option : job.options) hash.add(option);
  for (const std::string& name : job.name_expressions) hash.add(name);
  return std::move(hash).hex();
}

// The same source gives the same again; what ran into a limit may not, on another day.
bool is_lasting(CompileStatus status) {
  return status == CompileStatus::compiled || status == CompileStatus::compile_error;
}

std::size_t bytes_of(const CompilerOutput& output) {
  return output.log.size() + output.ptx.size() + output.cubin.size() + 1024;
}

void name_kernels(CompileResult& result, const CompileRequest& request, const CompilerOutput& output) {
  std::vector<EntryResources> entries = parse_resources(output.log, output.ptx, output.cubin);
  if (request.kernels.empty()) {
    for (EntryResources& entry : entries) result.kernels.push_back({entry.symbol, entry.symbol, entry.resources});
    return;
  }
  for (std::size_t i = 0; i < request.kernels.size() && i < output.lowered_names.size(); ++i) {
    CompiledKernel kernel{request.kernels[i], output.lowered_names[i], {}};
    for (const EntryResources& entry : entries) {
      if (entry.symbol == kernel.symbol) kernel.resources = entry.resources;
    }
    result.kernels.push_back(std::move(kernel));
  }
}

// From the compiler's words to the user's lines.
CompileResult finish(const JobResult& job, const CompileRequest& request, LineMap lines) {
  CompileResult result;
  result.status = job.status;
  result.explanation = job.explanation;
  result.compile_ms = static_cast<double>(job.output.compile_us) / 1000.0;
  result.ptx_fingerprint = job.output.ptx_fingerprint;
  result.lines = std::move(lines);
  result.diagnostics = parse_log(job.output.log, {request.file_name, &result.lines, job.output.ptx});
  if (result.status == CompileStatus::compiled) {
    result.ptx = with_user_positions(job.output.ptx, result.lines, compiled_file_name, request.file_name);
    result.cubin = job.output.cubin;
    name_kernels(result, request, job.output);
    return result;
  }
  const bool explained = std::any_of(result.diagnostics.begin(), result.diagnostics.end(),
                                     [](const Diagnostic& d) { return d.severity == Severity::error; });
  if (!explained) {
    // The one failure that NVRTC does not put into words.
    for (const EntryResources& entry : parse_resources(job.output.log, job.output.ptx, "")) {
      if (entry.resources.static_shared_bytes <= max_static_shared_bytes) continue;
      result.explanation = "kernel " + entry.symbol +
                           " uses too much shared data: " + std::to_string(entry.resources.static_shared_bytes) +
                           " bytes, " + std::to_string(max_static_shared_bytes) + " are allowed";
    }
    Diagnostic diagnostic;
    diagnostic.file = request.file_name;
    diagnostic.message = result.explanation;
    diagnostic.advice = advice_for(result.explanation);
    result.diagnostics.push_back(std::move(diagnostic));
  }
  return result;
}

std::size_t bytes_of(const CompileResult& result) {
  std::size_t bytes =
      2048 + result.ptx.size() + result.cubin.size() + result.lines.positions.size() * sizeof(UserPosition);
  for (const Diagnostic& diagnostic : result.diagnostics) {
    bytes += 256 + diagnostic.message.size() + diagnostic.advice.size();
    for (const std::string& note : diagnostic.notes) bytes += note.size();
  }
  return bytes;
}

}  // namespace

namespace {

// Headers that need nothing of CUDA's run-time library.
constexpr std::string_view plain_headers[] = {"cuda_fp16.h",
                                              "cuda_bf16.h",
                                              "cuda_fp8.h",
                                              "mma.h",
                                              "cuda_runtime.h",
                                              "stdint.h",
                                              "cstdint",
                                              "float.h",
                                              "cfloat",
                                              "limits.h",
                                              "climits",
                                              "math.h",
                                              "cmath",
                                              "limits",
                                              "stddef.h",
                                              "cstddef",
                                              "type_traits",
                                              "utility",
                                              "algorithm",
                                              "functional",
                                              "array",
                                              "stdio.h",
                                              "cstdio",
                                              "stdlib.h",
                                              "cstdlib",
                                              "string.h",
                                              "cstring",
                                              "assert.h",
                                              "cassert",
                                              "kw_system_types.h",
                                              "kw_host_builtins.h",
                                              "kw_host_compiler.h",
                                              "device_launch_parameters.h"};

// Whether a name begins so: `tex2D` and `__surf_read`, but not `constexpr`.
bool has_name_with(std::string_view text, std::string_view beginning) {
  for (std::size_t at = text.find(beginning); at != std::string_view::npos; at = text.find(beginning, at + 1)) {
    std::size_t before = at;
    while (before > 0 && text[before - 1] == '_') --before;
    if (before == 0 || std::isalnum(static_cast<unsigned char>(text[before - 1])) == 0) return true;
  }
  return false;
}

bool may_need_runtime(std::string_view line) {
  return line.find("cuda") != std::string_view::npos || line.find("<<<") != std::string_view::npos ||
         has_name_with(line, "tex") || has_name_with(line, "surf");
}

// NVRTC's --minimal leaves out textures, surfaces and everything named cuda...: a sixth of the time for a small kernel.
// Other headers may need them.
bool needs_no_runtime(std::string_view canonical_source) {
  constexpr std::string_view include = "#include";
  while (!canonical_source.empty()) {
    const std::string_view line = canonical_source.substr(0, canonical_source.find('\n'));
    canonical_source.remove_prefix(std::min(canonical_source.size(), line.size() + 1));
    if (line.substr(0, include.size()) != include) {
      if (may_need_runtime(line)) return false;
      continue;
    }
    const std::size_t open = line.find_first_of("<\"");
    const std::string_view name = open == std::string_view::npos ? "" : line.substr(open + 1, line.size() - open - 2);
    if (std::find(std::begin(plain_headers), std::end(plain_headers), name) == std::end(plain_headers)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> nvrtc_options(const CompileRequest& request, std::string_view canonical_source) {
  std::string architecture(to_string(request.architecture));
  if (!request.want_cubin) architecture.replace(0, 2, "compute");
  std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++17", "-lineinfo",
                                      // constexpr helpers without __device__ stay in the source; as host functions
                                      // NVRTC would refuse them even where only the launcher uses them.
                                      "--device-as-default-execution-space"};
  if (request.want_cubin) options.push_back("--ptxas-options=-v");
  if (request.fast_math) options.push_back("--use_fast_math");
  // cooperative_groups.h pulls in <cuda/atomic> for a few functions that combine the two: 770 ms instead of 45.
  // NVIDIA's macro leaves that out; who uses <cuda/...> anyway keeps it.
  const bool uses_cuda_library = canonical_source.find("#include <cuda/") != std::string_view::npos ||
                                 canonical_source.find("#include \"cuda/") != std::string_view::npos;
  if (!uses_cuda_library) options.push_back("-D_CG_LIMIT_INCLUDED_DEPENDENCIES");
  // nvcc has 128-bit integers where g++ has them.
  if (canonical_source.find("__int128") != std::string_view::npos) options.push_back("--device-int128");
  if (needs_no_runtime(canonical_source)) options.push_back("--minimal");
  return options;
}

CompileService::CompileService(ServiceOptions options)
    : options_(std::move(options)),
      finished_(options_.memory_cache_bytes / 2),
      compiled_(options_.memory_cache_bytes / 2) {
  if (options_.disk_cache) disk_.emplace(options_.disk);
}

CompileService::~CompileService() = default;

CompilePool& CompileService::pool() {
  const std::lock_guard lock(mutex_);
  if (pool_ == nullptr) pool_ = std::make_unique<CompilePool>(options_.pool);
  return *pool_;
}

Result<PoolFacts> CompileService::facts() { return pool().facts(); }

// What the result depends on besides the source. Known without starting a worker, so that a result from the cache
// costs no start.
const std::string& CompileService::compiler_identity() {
  std::call_once(identity_once_, [&] {
    const Result<CudaToolkit> toolkit = find_cuda_toolkit();
    if (!toolkit) return;
    struct stat status {};
    if (::stat(toolkit->nvrtc.c_str(), &status) != 0) return;
    compiler_identity_ = toolkit->nvrtc.filename().string() + " " + std::to_string(status.st_size) + " " +
                         std::to_string(status.st_mtim.tv_sec) + " " +
                         std::to_string(HeaderSet::load(toolkit->include).fingerprint());
  });
  return compiler_identity_;
}

CompileResult CompileService::compile(const CompileRequest& request) {
  if (const Result<void> checked = check_request(request); !checked) {
    return failure(CompileStatus::rejected, checked.error());
  }
  const std::string& identity = compiler_identity();
  const std::string raw = raw_key(request, identity);
  if (const std::shared_ptr<const CompileResult> known = finished_.get(raw)) {
    CompileResult result = *known;
    result.from_cache = true;
    return result;
  }
  Result<CanonicalSource> canonical = canonicalise(request.source, request.file_name);
  if (!canonical) return failure(CompileStatus::rejected, canonical.error());

  std::vector<std::string> nvrtc = nvrtc_options(request, canonical->text);
  CompilerJob job{std::move(canonical->text), std::move(nvrtc), request.kernels};
  const std::string key = canonical_key(job, identity);
  bool from_cache = false;
  const std::shared_ptr<const JobResult> done = compile_job(key, std::move(job), request.limits, from_cache);
  CompileResult result = finish(*done, request, std::move(canonical->lines));
  result.key = key;
  result.from_cache = from_cache;
  if (is_lasting(result.status)) {
    finished_.put(raw, std::make_shared<const CompileResult>(result), bytes_of(result));
  }
  return result;
}

std::shared_ptr<const JobResult> CompileService::compile_job(const std::string& key, CompilerJob job,
                                                             const CompileLimits& limits, bool& from_cache) {
  from_cache = true;
  if (auto known = compiled_.get(key)) return known;
  if (auto known = from_disk(key)) return known;

  std::promise<std::shared_ptr<const JobResult>> promise;
  // With other limits the same source may end in another way.
  const std::string run = key + " " + std::to_string(limits.wall_ms) + " " + std::to_string(limits.cpu_seconds) + " " +
                          std::to_string(limits.memory_bytes) + " " + std::to_string(limits.output_bytes);
  {
    std::unique_lock lock(mutex_);
    if (const auto found = running_.find(run); found != running_.end()) {
      const auto other = found->second;
      lock.unlock();
      return other.get();
    }
    running_.emplace(run, promise.get_future().share());
  }
  // It may have been finished between the look into the cache and the entry in the list.
  auto result = compiled_.get(key);
  if (result == nullptr) {
    from_cache = false;
    JobResult fresh = pool().submit(std::move(job), limits).get();
    if (fresh.status == CompileStatus::compiled) fresh.output.ptx_fingerprint = ptx_fingerprint(fresh.output.ptx);
    result = std::make_shared<const JobResult>(std::move(fresh));
    if (is_lasting(result->status)) store(key, result);
  }
  promise.set_value(result);
  const std::lock_guard lock(mutex_);
  running_.erase(run);
  return result;
}

std::shared_ptr<const JobResult> CompileService::from_disk(const std::string& key) {
  if (!disk_) return nullptr;
  const std::optional<std::string> bytes = disk_->get(key);
  if (!bytes || bytes->empty()) return nullptr;
  Result<CompilerOutput> output = decode_output(std::string_view(*bytes).substr(1));
  if (!output) return nullptr;
  const bool compiled = (*bytes)[0] == 'c';
  auto result =
      std::make_shared<const JobResult>(JobResult{compiled ? CompileStatus::compiled : CompileStatus::compile_error,
                                                  compiled ? "" : "the source does not compile", std::move(*output)});
  compiled_.put(key, result, bytes_of(result->output));
  return result;
}

void CompileService::store(const std::string& key, const std::shared_ptr<const JobResult>& result) {
  compiled_.put(key, result, bytes_of(result->output));
  if (!disk_) return;
  // A full or read-only disk costs speed, not results.
  (void)disk_->put(key, (result->status == CompileStatus::compiled ? "c" : "e") + encode(result->output));
}

}  // namespace kw
