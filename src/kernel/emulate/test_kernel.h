#pragma once
// For tests: a kernel k(a, b, n) from a few lines of PTX, with memory for its two pointers. Lines of the PTX body that
// begin with `L7:` in the first column are put on source line 7.

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/emulate/emulator.h"

namespace kw {

inline std::string test_ptx(const std::string& body, const std::string& declarations = "",
                            const std::string& target = "sm_80") {
  std::ostringstream text;
  text << ".version 9.0\n.target " << target << "\n.address_size 64\n"
       << declarations
       << "\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
          ".reg .pred %p<16>;\n.reg .b16 %rs<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .f32 %f<64>;\n.reg .f64 "
          "%fd<32>;\n"
          "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r1, [n];\n"
          "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.s32 %r5, %r3, %r4, %r2;\n";
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    std::size_t colon = line.find(':');
    if (line.size() > 1 && line[0] == 'L' && colon != std::string::npos &&
        line.find_first_not_of("0123456789", 1) == colon) {
      text << ".loc 1 " << line.substr(1, colon - 1) << " 3\n" << line.substr(colon + 1) << "\n";
    } else {
      text << line << "\n";
    }
  }
  text << "ret;\n}\n.file 1 \"kernel.cu\"\n";
  return text.str();
}

class TestKernel {
 public:
  explicit TestKernel(const std::string& body, const std::string& declarations = "",
                      const std::string& target = "sm_80")
      : ptx_(test_ptx(body, declarations, target)) {
    arguments.kernel = "k";
    arguments.block = {32, 1, 1};
  }

  template <class T>
  void input(const std::vector<T>& values) {
    a_ = memory.allocate(values.size() * sizeof(T), "input a", MemoryAccessRight::read_only).value();
    auto written =
        memory.write(a_, std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
    EXPECT_TRUE(written.ok());
  }
  void output(std::uint64_t bytes) { b_ = memory.allocate(bytes, "output b", MemoryAccessRight::read_write).value(); }
  template <class T>
  void in_out(const std::vector<T>& values) {
    output(values.size() * sizeof(T));
    auto written =
        memory.write(b_, std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
    EXPECT_TRUE(written.ok());
  }

  RunResult run(std::uint32_t n = 0) {
    if (module_ == nullptr) {
      auto loaded = LoadedModule::load(ptx_);
      if (!loaded.ok()) {
        ADD_FAILURE() << to_string(loaded.error()) << "\n" << ptx_;
        return {};
      }
      module_ = std::make_unique<LoadedModule>(std::move(loaded).value());
    }
    arguments.parameters = {bytes_of_value(a_), bytes_of_value(b_), bytes_of_value(n)};
    auto result = module_->run(memory, arguments, limits, options);
    if (!result.ok()) {
      ADD_FAILURE() << to_string(result.error());
      return {};
    }
    return *result;
  }

  template <class T>
  std::vector<T> result(std::size_t count) {
    std::string bytes = memory.read(b_, count * sizeof(T)).value();
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::uint64_t undefined_output(std::uint64_t bytes) { return memory.undefined(b_, bytes).value().count; }
  std::uint64_t a() const { return a_; }
  std::uint64_t b() const { return b_; }
  void set_a(std::uint64_t address) { a_ = address; }

  template <class T>
  static std::string bytes_of_value(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }

  DeviceMemory memory;
  LaunchArguments arguments;
  RunLimits limits;
  RunOptions options;

 private:
  std::string ptx_;
  std::unique_ptr<LoadedModule> module_;
  std::uint64_t a_ = 0;
  std::uint64_t b_ = 0;
};

// b[global thread] = %r20, the ending of most test kernels.
inline const std::string store_r20 =
    "cvta.to.global.u64 %rd60, %rd2;\nmul.wide.s32 %rd61, %r5, 4;\nadd.s64 %rd62, %rd60, %rd61;\nst.global.u32 "
    "[%rd62], %r20;\n";

inline std::string describe(const RunResult& result) {
  std::string text(name_of(result.status));
  for (const EmulatorFinding& finding : result.findings)
    text +=
        "\n  " + std::string(name_of(finding.kind)) + " line " + std::to_string(finding.line) + ": " + finding.message;
  return text;
}

inline ::testing::AssertionResult clean(const RunResult& result) {
  if (result.status == RunStatus::ok && result.findings.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << describe(result) << " " << result.unsupported;
}

// Exactly one finding, of this kind and line.
inline ::testing::AssertionResult finds(const RunResult& result, FindingKind kind, std::uint32_t line) {
  for (const EmulatorFinding& finding : result.findings)
    if (finding.kind == kind && finding.line == line && result.findings.size() == 1)
      return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "wanted " << name_of(kind) << " line " << line << ", got "
                                       << describe(result);
}

}  // namespace kw
