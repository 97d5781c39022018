// Preprocessor lines: what may be included, which pragmas there are, which names may be redefined.

#include <algorithm>
#include <unordered_set>

#include "kernel/source/rules_reading.h"

namespace kw {

bool is_plain_path(std::string_view name) {
  return name.find("..") == name.npos && name.find('\\') == name.npos && !name.starts_with('/');
}

bool is_allowed_header(std::string_view name, const Policy& policy) {
  if (!is_plain_path(name)) return false;
  return std::any_of(policy.allowed_headers.begin(), policy.allowed_headers.end(), [&](std::string_view allowed) {
    if (!allowed.ends_with('*')) return name == allowed;
    allowed.remove_suffix(1);
    return name.size() > allowed.size() && name.starts_with(allowed);
  });
}

namespace {

// What the device compiler would find: a header that is really included is judged, whatever was thought of the branch.
bool is_of_the_compilers(std::string_view name) {
  for (const std::string_view prefix : {"kw_", "crt/", "thrust/", "cccl/", "cuda", "cu", "nv"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// Names whose meaning the rules, the interpreter and every reader rely on.
bool is_reserved_meaning(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
      "threadIdx",  "blockIdx",    "blockDim", "gridDim",     "warpSize",     "dim3", "__syncthreads",
      "__syncwarp", "cudaSuccess", "defined",  "cudaError_t", "cudaStream_t", "std",  "__CUDA_ARCH__"};
  return is_keyword(name) || names.contains(name);
}

class DirectiveRules {
 public:
  DirectiveRules(RuleInput& input, const Policy& policy) : input_(input), policy_(policy) {}

  void run() {
    find_defined();
    for (const Token& token : input_.stream.tokens) {
      if (token.kind != TokenKind::directive) continue;
      follow_branches(token);
      check(token);
    }
  }

 private:
  void report(const Token& directive, std::string_view rule, std::string message, std::string advice,
              Severity severity = Severity::error) {
    Violation violation = violation_at(input_, directive, rule, severity, std::move(message), std::move(advice));
    violation.removable = severity == Severity::error;
    violation.begin = directive.offset;
    violation.end = directive.end_offset();
    const std::string_view name = input_.stream.inside(directive)[0].text;
    if (name.starts_with("if")) violation.replacement = "#if 0";  // its #endif stays
    if (name.starts_with("elif")) violation.replacement = "#elif 0";
    input_.add(std::move(violation));
  }

  void find_defined() {
    for (const Token& token : input_.stream.tokens) {
      if (token.kind != TokenKind::directive) continue;
      const auto inside = input_.stream.inside(token);
      if (inside.size() > 1 && inside[0].is("define")) defined_.insert(inside[1].text);
    }
  }

  // Which #if branches are not taken: what stands behind `#ifdef` of a name that nobody defines. A name that a header
  // might define is one that somebody defines.
  void follow_branches(const Token& directive) {
    const auto inside = input_.stream.inside(directive);
    if (inside.empty()) return;
    const std::string_view name = inside[0].text;
    const bool false_here = asks_for_nobody(inside.subspan(1)) && name != "ifndef" && name != "elifndef";
    if (name.starts_with("if")) {
      const bool taken = name == "ifndef" && asks_for_nobody(inside.subspan(1));
      branches_.push_back(false_here ? Branch::not_taken : taken ? Branch::taken : Branch::open);
    } else if (name.starts_with("el") && !branches_.empty()) {
      // Behind a branch that is taken all others are not; behind one that is not, another `#elif` decides.
      Branch& branch = branches_.back();
      const bool over = branch == Branch::taken || branch == Branch::over;
      branch = over ? Branch::over : false_here ? Branch::not_taken : Branch::open;
    } else if (name == "endif" && !branches_.empty()) {
      branches_.pop_back();
    }
  }

  // `X`, `defined X`, `defined(X)`, and several of these with `||` between them, all of names that nobody defines.
  bool asks_for_nobody(std::span<const Token> condition) const {
    std::size_t i = 0;
    const auto is = [&](std::string_view text) { return i < condition.size() && condition[i].is(text); };
    while (i < condition.size()) {
      if (is("defined")) ++i;
      const bool bracket = is("(");
      if (bracket) ++i;
      if (i >= condition.size() || condition[i].kind != TokenKind::identifier || !is_of_nobody(condition[i].text))
        return false;
      ++i;
      if (bracket) {
        if (!is(")")) return false;
        ++i;
      }
      if (i == condition.size()) return true;
      if (!is("||")) return false;
      ++i;
    }
    return false;
  }

  bool is_of_nobody(std::string_view name) const {
    if (name == "defined" || name == "true") return false;
    // AMD's compiler's own.
    if (name.starts_with("__HIP") || name.starts_with("__hip")) return !defined_.contains(name);
    for (const std::string_view prefix : {"_", "CU", "cu", "NV", "nv", "THRUST", "TORCH", "AT_", "C10"}) {
      if (name.starts_with(prefix)) return false;
    }
    return !defined_.contains(name);
  }

  bool in_branch_not_taken() const {
    return std::ranges::any_of(branches_,
                               [](Branch each) { return each == Branch::not_taken || each == Branch::over; });
  }

  void check(const Token& directive) {
    const auto inside = input_.stream.inside(directive);
    if (inside.empty()) return;
    static const std::unordered_set<std::string_view> harmless = {"else", "endif", "error", "warning"};
    const std::string_view name = inside[0].text;
    if (name == "include") {
      check_include(directive, inside);
    } else if (name == "pragma") {
      check_pragma(directive, inside);
    } else if (name == "define" || name == "undef") {
      if (inside.size() > 1) check_macro_name(directive, inside[1].text);
      check_body(directive, inside.subspan(std::min<std::size_t>(2, inside.size())));
    } else if (name == "if" || name == "elif" || name == "ifdef" || name == "ifndef" || name == "elifdef" ||
               name == "elifndef") {
      check_body(directive, inside.subspan(1));
    } else if (name == "line" || inside[0].kind == TokenKind::number) {
      report(directive, "line-directive", "a line directive changes what error messages point at", "remove it");
    } else if (!harmless.contains(name)) {
      report(directive, "directive", "#" + std::string(name.substr(0, 40)) + " is not allowed", "remove it");
    }
  }

  void check_include(const Token& directive, std::span<const Token> inside) {
    if (inside.size() != 2 || (inside[1].kind != TokenKind::header_name &&
                               (inside[1].kind != TokenKind::string || !inside[1].text.starts_with('"')))) {
      return report(directive, "include", "an #include whose file name is not written out",
                    "write #include <name> with one of the allowed headers");
    }
    std::string_view name = inside[1].text;
    name = name.size() >= 2 ? name.substr(1, name.size() - 2) : "";
    if (is_allowed_header(name, policy_)) return;
    const std::string what = "#include of " + std::string(name.substr(0, 80));
    if (in_branch_not_taken() && is_plain_path(name) && !is_of_the_compilers(name)) {
      return report(directive, "include", what + " stands in a branch that is not taken", "remove it", Severity::note);
    }
    report(directive, "include", what + " is not allowed",
           "include only CUDA's device headers and the C++ headers for numbers and types");
  }

  void check_pragma(const Token& directive, std::span<const Token> inside) {
    std::string text;
    for (const Token& token : inside.subspan(1)) text.append(text.empty() ? "" : " ").append(token.text.substr(0, 80));
    const std::string why = forbidden_pragma(text);
    if (!why.empty()) report(directive, "pragma", why, "use only #pragma unroll, nounroll and once");
  }

  void check_macro_name(const Token& directive, std::string_view name) {
    if (is_reserved_meaning(name)) {
      report(directive, "macro-name",
             "the macro " + std::string(name.substr(0, 60)) + " changes the language's meaning", "choose another name");
    } else if (name.starts_with("__") || (name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z')) {
      report(directive, "macro-name",
             "the macro " + std::string(name.substr(0, 60)) + " has a name reserved for the compiler",
             "choose another name", Severity::warning);
    }
  }

  // Looking at the build machine from inside a macro or a condition.
  void check_body(const Token& directive, std::span<const Token> tokens) {
    for (const Token& token : tokens) {
      if (token.kind != TokenKind::identifier) continue;
      if (token.is("__has_include") || token.is("__has_include_next") || token.is("__has_embed")) {
        return report(directive, "has-include", std::string(token.text) + " looks for files of the build machine",
                      "remove it");
      }
      if (token.is("__CUDACC_RTC__") || token.is("__NVRTC__") || token.is("__NVCC__") ||
          token.is("__CUDACC_VER_BUILD__")) {  // the versions are those of nvcc, MAJOR and MINOR the same for all
        return report(directive, "build-macro", std::string(token.text) + " tells which compiler is at work",
                      "write the same code for every compiler");
      }
      // What NVRTC, nvcc's device compiler and the host's compiler do not agree about.
      static const std::unordered_set<std::string_view> of_a_compiler = {"__EDG__",
                                                                         "__EDG_VERSION__",
                                                                         "__CUDA_FTZ",
                                                                         "__CUDA_PREC_DIV",
                                                                         "__CUDA_PREC_SQRT",
                                                                         "__GLIBC__",
                                                                         "__MMX__",
                                                                         "__GLIBCXX__",
                                                                         "__VERSION__",
                                                                         "__SSE2__",
                                                                         "__PIC__",
                                                                         "__PIE__",
                                                                         "__GXX_RTTI",
                                                                         "__gnu_linux__",
                                                                         "__has_feature",
                                                                         "linux",
                                                                         "unix"};
      if (of_a_compiler.contains(token.text)) {
        return report(directive, "build-macro", std::string(token.text) + " is not the same for every compiler",
                      "write the same code for every compiler");
      }
      if (token.is("__VA_OPT__")) {
        return report(directive, "macro-expansion", "__VA_OPT__ is not read", "write the macro without __VA_OPT__");
      }
    }
  }

  enum class Branch : std::uint8_t { open, taken, not_taken, over };  // over: behind one that was taken

  RuleInput& input_;
  const Policy& policy_;
  std::unordered_set<std::string_view> defined_;  // by the file, anywhere
  std::vector<Branch> branches_;
};

}  // namespace

std::string forbidden_pragma(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  const std::size_t end = std::min(text.find_first_of(" \t(", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  static const std::unordered_set<std::string_view> harmless = {"unroll",
                                                                "nounroll",
                                                                "once",
                                                                "region",
                                                                "endregion",
                                                                "ivdep",
                                                                "nv_diag_suppress",
                                                                "diag_suppress",
                                                                "nv_diag_once",
                                                                "diag_default",
                                                                "nv_exec_check_disable",
                                                                "omp",
                                                                "nv_diag_default",
                                                                "diag_warning",
                                                                "nv_diag_warning",
                                                                "hd_warning_disable"};
  if (harmless.contains(word)) return "";
  // Which warnings a compiler gives, and what it says, changes nothing that is compiled.
  std::string_view rest = text.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  if ((word == "GCC" || word == "clang") && rest.starts_with("diagnostic ")) return "";
  if (word == "warning" || word == "message") return "";
  return "#pragma " + std::string(word.substr(0, 40)) + " changes how the file is compiled";
}

std::vector<std::string> default_allowed_headers() {
  return {// CUDA's device headers
          "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "cuda_fp16.h", "cuda_bf16.h",
          "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "mma.h", "cooperative_groups.h", "cooperative_groups/*",
          "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h", "cuda_awbarrier_primitives.h",
          "math_constants.h", "math_functions.h", "device_functions.h", "device_atomic_functions.h", "sm_*",
          "vector_types.h", "vector_functions.h", "builtin_types.h", "driver_types.h", "curand_kernel.h", "cuda/*",
          "cub/*", "nv/target", "cuComplex.h", "host_defines.h", "host_config.h", "device_types.h", "library_types.h",
          "driver_functions.h", "channel_descriptor.h", "texture_types.h", "surface_types.h",
          "device_double_functions.h", "cuda_device_runtime_api.h",
          // C++ headers for numbers and types
          "algorithm", "array", "bit", "cassert", "cfloat", "climits", "cmath", "complex", "concepts", "cstddef",
          "cstdint", "cstdio", "cstdlib", "cstring", "functional", "initializer_list", "limits", "new", "numbers",
          "numeric", "ratio", "tuple", "type_traits", "utility",
          // for host code, which is read and never compiled; the device compiler sees them empty
          "deque", "exception", "fstream", "iomanip", "ios", "iostream", "istream", "iterator", "list", "map", "memory",
          "mutex", "optional", "ostream", "queue", "set", "sstream", "stack", "stdexcept", "string", "string_view",
          "thread", "typeinfo", "unordered_map", "unordered_set", "variant", "vector", "bits/stdc++.h", "strings.h",
          "any", "atomic", "bitset", "charconv", "condition_variable", "csignal", "format", "forward_list", "future",
          "iosfwd", "locale", "locale.h", "ranges", "regex", "shared_mutex", "source_location", "span", "system_error",
          "typeindex", "valarray",
          // and their C names
          "assert.h", "float.h", "inttypes.h", "cinttypes", "limits.h", "math.h", "stddef.h", "stdint.h", "stdio.h",
          "stdlib.h", "string.h",
          // of libraries whose functions are refused where they are used
          "time.h", "ctime", "chrono", "omp.h", "unistd.h", "sys/time.h", "sys/types.h", "cstdarg", "cctype", "cerrno",
          "ctype.h", "stdbool.h", "random", "cublas_v2.h", "cublasLt.h", "cudnn.h", "curand.h", "cuda_profiler_api.h",
          "nvtx3/nvToolsExt.h", "nvToolsExt.h", "cublas.h", "cublasXt.h", "cublas_api.h", "cusparse.h", "cusparse_v2.h",
          "cufft.h", "cufftXt.h", "nccl.h", "nvrtc.h", "cudaProfiler.h", "mpi.h", "sys/stat.h", "sys/resource.h",
          "fcntl.h", "errno.h", "signal.h", "pthread.h", "getopt.h",
          // another system's, in branches that are not taken: where one is taken, the compiler does not find it
          "windows.h",
          // PyTorch's, for extension files: read and never compiled; device code gets kw_torch.h
          "torch/*", "ATen/*", "c10/*", "pybind11/*", "THC/*"};
}

void check_directives(RuleInput& input, const Policy& policy) { DirectiveRules(input, policy).run(); }

}  // namespace kw
