#include "kernel/compile/compiler.h"

#include <chrono>

namespace kw {
namespace {

class Program {
 public:
  Program(const Nvrtc& nvrtc, nvrtcProgram program) : nvrtc_(nvrtc), program_(program) {}
  ~Program() { nvrtc_.destroy_program(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  nvrtcProgram get() const { return program_; }

 private:
  const Nvrtc& nvrtc_;
  nvrtcProgram program_;
};

using SizeFunction = nvrtcResult (*)(nvrtcProgram, std::size_t*);
using CopyFunction = nvrtcResult (*)(nvrtcProgram, char*);

// NVRTC's sizes of texts count the NUL at the end.
bool fetch(nvrtcProgram program, SizeFunction size_of, CopyFunction copy, bool is_text, std::uint64_t& left,
           std::string& into) {
  std::size_t size = 0;
  if (size_of(program, &size) != NVRTC_SUCCESS || size == 0) return true;
  if (size > left) return false;
  left -= size;
  into.resize(size);
  if (copy(program, into.data()) != NVRTC_SUCCESS) into.clear();
  if (is_text && !into.empty()) into.pop_back();
  return true;
}

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> list;
  for (const std::string& text : strings) list.push_back(text.c_str());
  return list;
}

}  // namespace

LimitedOutput run_nvrtc(const Nvrtc& nvrtc, const HeaderSet& headers, const CompilerJob& job,
                        std::uint64_t output_limit_bytes) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const Header* header : headers.needed_by(job.source)) {
    names.push_back(header->name.c_str());
    texts.push_back(header->text.c_str());
  }

  LimitedOutput limited;
  CompilerOutput& output = limited.output;
  nvrtcProgram handle = nullptr;
  nvrtcResult result = nvrtc.create_program(&handle, job.source.c_str(), compiled_file_name,
                                            static_cast<int>(names.size()), texts.data(), names.data());
  if (result != NVRTC_SUCCESS) {
    output.nvrtc_result = result;
    output.log = nvrtc.get_error_string(result);
    return limited;
  }
  const Program program(nvrtc, handle);
  for (const std::string& expression : job.name_expressions) {
    if (result == NVRTC_SUCCESS) result = nvrtc.add_name_expression(handle, expression.c_str());
  }
  const std::vector<const char*> options = pointers(job.options);
  if (result == NVRTC_SUCCESS) result = nvrtc.compile_program(handle, static_cast<int>(options.size()), options.data());
  output.nvrtc_result = result;

  std::uint64_t left = output_limit_bytes;
  limited.over_limit = !fetch(handle, nvrtc.get_log_size, nvrtc.get_log, true, left, output.log) ||
                       !fetch(handle, nvrtc.get_ptx_size, nvrtc.get_ptx, true, left, output.ptx) ||
                       !fetch(handle, nvrtc.get_cubin_size, nvrtc.get_cubin, false, left, output.cubin);
  for (const std::string& expression : job.name_expressions) {
    const char* lowered = nullptr;
    const bool found = result == NVRTC_SUCCESS &&
                       nvrtc.get_lowered_name(handle, expression.c_str(), &lowered) == NVRTC_SUCCESS &&
                       lowered != nullptr;
    output.lowered_names.emplace_back(found ? lowered : "");
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  output.compile_us = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
  return limited;
}

}  // namespace kw
