#pragma once
// Reads PTX text (ISA 9.0) as NVRTC, nvcc and clang write it. The text is not trusted: time and memory are bounded by
// its size and the limits below, and every error says the line. What an instruction means is not checked here: an
// opcode that nobody can execute is found by the decoder.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kernel/emulate/ptx_module.h"

namespace kw {

inline constexpr std::size_t max_ptx_text_bytes = std::size_t{512} << 20;
inline constexpr std::size_t max_ptx_instructions = 1'000'000;     // of a module
inline constexpr std::size_t max_ptx_operands = 8'000'000;         // of a module, parts of vectors counted
inline constexpr std::size_t max_ptx_operands_in_list = 256;       // of an instruction, a vector, a call
inline constexpr std::size_t max_ptx_modifiers = 24;               // of an instruction
inline constexpr std::size_t max_ptx_registers = 100'000;          // of a function
inline constexpr std::size_t max_ptx_registers_total = 2'000'000;  // of a module
inline constexpr std::size_t max_ptx_variables = 200'000;          // of a module, parameters counted
inline constexpr std::size_t max_ptx_functions = 50'000;
inline constexpr std::size_t max_ptx_scope_depth = 64;
inline constexpr std::size_t max_ptx_expression_depth = 64;
inline constexpr std::uint64_t max_ptx_variable_bytes = std::uint64_t{1} << 40;
inline constexpr std::uint64_t max_ptx_initial_bytes = std::uint64_t{64} << 20;  // of all initialisers of a module

// `user_file` is the name under which the kernel was compiled: origins speak of its lines. Errors are placed in "PTX".
Result<PtxModule> parse_ptx(std::string_view text, std::string_view user_file = "kernel.cu");

// Whether parse_ptx() refused valid PTX because the emulator has no such thing (textures, 32-bit addresses), not
// because the text is wrong.
bool is_unsupported_ptx(const Error& error);

}  // namespace kw
