#pragma once
// The tables of names that the rules know.

#include <cstdint>
#include <string_view>

namespace kw {

// When a name counts.
enum class Mention : std::uint8_t {
  anywhere,                // no honest kernel uses the word for something else
  any_call,                // as a call, even if the file defines an overload
  call_without_arguments,  // `clock()`
  call,                    // as a call of something that the file does not define: `read(...)`
};

struct ForbiddenName {
  std::string_view rule;
  Mention mention;
  std::string_view why;  // follows the name in a sentence
  std::string_view advice;
};

const ForbiddenName* find_forbidden(std::string_view name);

bool is_forbidden_in_std(std::string_view name);

// What error-checking macros around CUDA calls use: `fprintf(stderr, ...); exit(1);`. Harmless in host code, which is
// never run.
bool is_error_report(std::string_view name);

// Of the CUDA runtime: what the launcher may call, and names that are no functions.
bool is_allowed_runtime_call(std::string_view name);
bool may_be_of_runtime(std::string_view name);  // by its first word: cudaMemcpySomething
bool is_runtime_type_or_constant(std::string_view name);

// "cuBLAS" for cublasSgemm; empty for names of no known library.
std::string_view library_of(std::string_view name, bool is_call);
bool is_library_namespace(std::string_view name);
// torch, at, c10, pybind11: extension files may use them for tensors and not to compute.
bool is_torch_namespace(std::string_view name);
bool is_allowed_torch_call(std::string_view name);       // in host code: torch::empty
bool is_allowed_torch_in_device(std::string_view name);  // c10::Half, at::acc_type

// `__nvvm_*`, `__builtin_*` and the like, except the few that are documented and harmless.
bool is_compiler_internal(std::string_view name);

// Functions of the C library and of CUDA's device library that a file must not define with C linkage.
bool is_library_function(std::string_view name);

}  // namespace kw
