#pragma once
// Nsight Compute as a source of the same counters, where CUPTI cannot be used in the process: it runs a whole program
// under its own control and prints a table.
//
// Its output is mixed with what the program prints, which is not ours: reading it is bounded, and lines that are not
// part of the table are passed over.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/counters/counters.h"

namespace kw {

inline constexpr std::size_t max_ncu_bytes = 64u << 20;
inline constexpr std::size_t max_ncu_columns = 1024;
inline constexpr std::size_t max_ncu_kernels = 4096;     // further rows are counted in a note
inline constexpr std::size_t max_ncu_name_bytes = 4096;  // of a kernel; longer names are cut

// Reads what `ncu --csv --page raw` printed: a header, a row of units, a row for each kernel. `wanted` are the metrics
// that were asked for; those without a column are reported as missing. No permission, no kernel and no table are
// errors.
Result<CounterReport> parse_ncu_csv(std::string_view text, const std::vector<std::string>& wanted = {});

struct NcuOptions {
  std::string ncu = "ncu";  // looked up in PATH
  CounterDetail detail = CounterDetail::full;
  std::chrono::milliseconds wall{300'000};
};

// ncu --csv --page raw --clock-control none --print-units base --metrics LIST --target-processes all PROGRAM ...
std::vector<std::string> ncu_command(const std::vector<std::string>& program, const NcuOptions& options = {});

// Runs a program of ours (this bounds it, it does not confine it) under ncu.
Result<CounterReport> run_ncu(const std::vector<std::string>& program, const NcuOptions& options = {});

}  // namespace kw
