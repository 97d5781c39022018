#include "kernel/compile/headers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/file.h"
#include "base/hash.h"
#include "base/text_lines.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct OwnHeader {
  std::string_view name;
  std::string_view text;
};

constexpr OwnHeader own_headers[] = {
#include "own_headers.inc"
};

// Headers for host code. The host's part of a kernel file is not compiled here, so there is nothing they would have to
// declare; device code that uses them gets the compiler's own error.
constexpr std::string_view host_headers[] = {
    "atomic",
    "bitset",
    "chrono",
    "complex",
    "condition_variable",
    "cctype",
    "ctype.h",
    "stdbool.h",
    "cerrno",
    "csignal",
    "cstdarg",
    "ctime",
    "deque",
    "exception",
    "filesystem",
    "fstream",
    "future",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "list",
    "map",
    "memory",
    "mutex",
    "new",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ratio",
    "regex",
    "set",
    "sstream",
    "stack",
    "stdexcept",
    "string",
    "string_view",
    "system_error",
    "thread",
    "tuple",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "variant",
    "vector",
    "bits/stdc++.h",
    "strings.h",
    "time.h",
    "sys/time.h",
    "sys/types.h",
    "unistd.h",
    "sys/stat.h",
    "sys/resource.h",
    "fcntl.h",
    "errno.h",
    "signal.h",
    "pthread.h",
    "getopt.h",
    "locale.h",
    "locale",
    "any",
    "charconv",
    "forward_list",
    "format",
    "ranges",
    "shared_mutex",
    "source_location",
    "span",
    "typeindex",
    "valarray",
    // The compiler knows by itself what stands in these, or it is for the host.
    "bit",
    "concepts",
    "numbers",
    "driver_types.h",
    "driver_functions.h",
    "channel_descriptor.h",
    "texture_types.h",
    "surface_types.h",
    "math_functions.h",
    "device_atomic_functions.h",
    "device_double_functions.h",
    "sm_20_atomic_functions.h",
    "sm_20_intrinsics.h",
    "sm_30_intrinsics.h",
    "sm_32_atomic_functions.h",
    "sm_32_intrinsics.h",
    "sm_35_atomic_functions.h",
    "sm_35_intrinsics.h",
    "sm_60_atomic_functions.h",
    "sm_61_intrinsics.h",
    "host_config.h",
    "cuda_profiler_api.h",
    "omp.h",
    "cublas_v2.h",
    "cublasLt.h",
    "cudnn.h",
    "cublas.h",
    "cublasXt.h",
    "cublas_api.h",
    "cusparse.h",
    "cusparse_v2.h",
    "cufft.h",
    "cufftXt.h",
    "nccl.h",
    "nvrtc.h",
    "cudaProfiler.h",
    "mpi.h",
    "nvToolsExt.h",
    "nvtx3/nvToolsExt.h",
    // Its collectives come by name, see implicit_names.h; the rest is for the host.
    "cub/cub.cuh",
    "cub/cub.h",
};

constexpr std::string_view host_header_text = "#pragma once\n";

// Of the toolkit's many headers, those that speak to device code.
constexpr std::array<std::string_view, 14> cuda_prefixes = {
    "cuda_fp",        "cuda_bf16",  "cuda_pipeline", "cuda_awbarrier", "mma.h",        "cooperative_groups.h",
    "math_constants", "vector_",    "curand",        "device_types",   "host_defines", "library_types",
    "cuComplex",      "cuda_stdint"};
constexpr std::array<std::string_view, 7> cuda_folders = {"crt",       "cooperative_groups", "nv",         "cccl/nv",
                                                          "cccl/cuda", "cccl/cub",           "cccl/thrust"};
constexpr std::size_t header_limit_bytes = 4u << 20;

// The name between the brackets or quotes of an #include line, and where it stands in the line.
struct IncludeLine {
  std::string_view name;
  std::size_t begin = 0;  // of the opening bracket
  std::size_t end = 0;    // after the closing one
  bool quoted = false;
};

std::size_t skip_blanks(std::string_view line, std::size_t i) {
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  return i;
}

std::optional<IncludeLine> parse_include(std::string_view line) {
  std::size_t i = skip_blanks(line, 0);
  if (i >= line.size() || line[i] != '#') return std::nullopt;
  i = skip_blanks(line, i + 1);
  constexpr std::string_view word = "include";
  if (line.substr(i, word.size()) != word) return std::nullopt;
  i = skip_blanks(line, i + word.size());
  if (i >= line.size() || (line[i] != '<' && line[i] != '"')) return std::nullopt;
  const bool quoted = line[i] == '"';
  const std::size_t close = line.find(quoted ? '"' : '>', i + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return IncludeLine{line.substr(i + 1, close - i - 1), i, close + 1, quoted};
}

// Thrust, which CUB needs, names some of its headers through macros: `#define X <__THRUST_DEVICE_SYSTEM_ROOT/copy.h>`.
std::string thrust_header_in(std::string_view line) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> roots = {
      {{"<__THRUST_DEVICE_SYSTEM_ROOT/", "thrust/system/cuda/"},
       {"<__THRUST_HOST_SYSTEM_ROOT/", "thrust/system/cpp/"}}};
  for (const auto& [root, folder] : roots) {
    const std::size_t at = line.find(root);
    const std::size_t close = at == std::string_view::npos ? at : line.find('>', at);
    if (close == std::string_view::npos) continue;
    const std::size_t begin = at + root.size();
    return std::string(folder) + std::string(line.substr(begin, close - begin));
  }
  return {};
}

bool is_wanted(const std::string& file_name) {
  return std::any_of(cuda_prefixes.begin(), cuda_prefixes.end(),
                     [&](std::string_view prefix) { return file_name.rfind(prefix, 0) == 0; });
}

using TextByName = std::unordered_map<std::string, std::string>;

// Comments are half of the headers' bytes. Lines stay, so that the compiler's line numbers do.
std::string without_comments(const std::string& text) {
  if (text.find("R\"") != std::string::npos) return text;  // raw strings: two headers have them
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.substr(0, 2) == "//") {
      const std::size_t end = text.find('\n', i);
      // A backslash would carry the comment on; such a line is left as it is.
      if (end != std::string::npos && text[end - 1] == '\\') {
        out.append(text, i, end + 1 - i);
        i = end + 1;
      } else {
        i = end == std::string::npos ? text.size() : end;
      }
    } else if (rest.substr(0, 2) == "/*") {
      const std::size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      out.push_back(' ');
      for (; i < end; ++i) {
        if (text[i] == '\n') out.push_back('\n');
      }
    } else if (text[i] == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
      out.append(text, i, end - i);
      i = end;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

struct Replacement {
  std::string_view header;
  std::string_view text;
  std::string_view by;
};

// Some headers bring their own integers for NVRTC, where int64_t is `long long`. Under nvcc they take the standard
// headers, and so they do here: ours.
constexpr Replacement replacements[] = {
    {"cuda/std/cstdint", "!_CCCL_COMPILER(NVRTC)", "1"},
    {"cuda/std/climits", "!_CCCL_COMPILER(NVRTC)", "1"},
    {"cuda/std/cfloat", "!_CCCL_COMPILER(NVRTC)", "1"},
    {"cuda_pipeline_helpers.h", "defined(__CUDACC_RTC__)\ntypedef", "0\ntypedef"},
    {"cuda_awbarrier_helpers.h", "defined(__CUDACC_RTC__)\ntypedef", "0\ntypedef"},
};

void use_standard_headers(const std::string& name, std::string& text) {
  for (const Replacement& replacement : replacements) {
    if (name != replacement.header) continue;
    const std::size_t at = text.find(replacement.text);
    if (at != std::string::npos) text.replace(at, replacement.text.size(), replacement.by);
  }
}

void read_header(const fs::path& file, const std::string& name, TextByName& texts) {
  if (texts.count(name) != 0) return;  // ours come first
  Result<std::string> text = read_file(file, header_limit_bytes);
  if (!text) return;
  std::string header = without_comments(*text);
  use_standard_headers(name, header);
  texts.emplace(name, std::move(header));
}

void read_cuda_headers(const fs::path& include, TextByName& texts) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(include, error)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file(error) && is_wanted(name)) read_header(entry.path(), name, texts);
  }
  for (const std::string_view folder : cuda_folders) {
    for (fs::recursive_directory_iterator it(include / folder, error), end; !error && it != end; it.increment(error)) {
      if (!it->is_regular_file(error)) continue;
      std::string name = it->path().lexically_relative(include).generic_string();
      if (name.rfind("cccl/", 0) == 0) name.erase(0, 5);
      read_header(it->path(), name, texts);
    }
  }
}

// NVRTC matches an #include by its exact spelling, so relative ones get their full name.
std::string with_full_names(const std::string& name, const std::string& text, const TextByName& known) {
  const fs::path folder = fs::path(name).parent_path();
  std::string out;
  out.reserve(text.size() + 64);
  for_each_line(text, [&](std::string_view line) {
    const std::optional<IncludeLine> include = parse_include(line);
    std::string full;
    if (include && include->quoted) full = (folder / include->name).lexically_normal().generic_string();
    if (!full.empty() && known.count(full) != 0) {
      out.append(line.substr(0, include->begin)).append("<").append(full).append(">").append(line.substr(include->end));
    } else {
      out.append(line);
    }
    out.push_back('\n');
  });
  return out;
}

}  // namespace

HeaderSet HeaderSet::load(const fs::path& cuda_include) {
  TextByName texts;
  for (const OwnHeader& header : own_headers) texts.emplace(header.name, header.text);
  for (const std::string_view name : host_headers) texts.emplace(name, host_header_text);
  if (!cuda_include.empty()) read_cuda_headers(cuda_include, texts);

  HeaderSet set;
  for (const auto& [name, text] : texts) set.headers_.push_back({name, with_full_names(name, text, texts), {}});
  std::sort(set.headers_.begin(), set.headers_.end(), [](const Header& a, const Header& b) { return a.name < b.name; });
  std::string all;
  for (std::uint32_t i = 0; i < set.headers_.size(); ++i) set.index_.emplace(set.headers_[i].name, i);
  for (Header& header : set.headers_) {
    for_each_line(header.text, [&](std::string_view line) {
      const std::optional<IncludeLine> include = parse_include(line);
      const auto found = set.index_.find(include ? std::string(include->name) : thrust_header_in(line));
      if (found != set.index_.end()) header.includes.push_back(found->second);
    });
    const std::uint64_t sum = checksum64(header.text);
    all.append(header.name).push_back('\0');
    all.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  set.fingerprint_ = checksum64(all);
  return set;
}

std::vector<const Header*> HeaderSet::needed_by(std::string_view source) const {
  std::vector<bool> seen(headers_.size());
  std::vector<std::uint32_t> open;
  const auto need = [&](std::uint32_t header) {
    if (seen[header]) return;
    seen[header] = true;
    open.push_back(header);
  };
  for_each_line(source, [&](std::string_view line) {
    const std::optional<IncludeLine> include = parse_include(line);
    if (!include) return;
    const auto found = index_.find(std::string(include->name));
    if (found != index_.end()) need(found->second);
  });
  std::vector<const Header*> needed;
  while (!open.empty()) {
    const Header& header = headers_[open.back()];
    open.pop_back();
    needed.push_back(&header);
    for (const std::uint32_t include : header.includes) need(include);
  }
  return needed;
}

std::string well_known_headers() {
  return "cuda_runtime.h, cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, mma.h, cooperative_groups.h, cuda_pipeline.h, "
         "cuda/atomic, cuda/barrier, cuda/pipeline, cuda/std/*, curand_kernel.h, math_constants.h, cub/block/*.cuh, "
         "cub/warp/*.cuh, cstdint, cfloat, cmath, limits, type_traits, algorithm";
}

}  // namespace kw
