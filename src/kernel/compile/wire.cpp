#include "kernel/compile/wire.h"

#include "base/bytes.h"

namespace kw {
namespace {

constexpr std::uint64_t list_limit = 1u << 16;

void write_list(ByteWriter& writer, const std::vector<std::string>& list) {
  writer.number(list.size());
  for (const std::string& text : list) writer.text(text);
}

std::vector<std::string> read_list(ByteReader& reader) {
  std::vector<std::string> list;
  const std::uint64_t count = reader.count(list_limit);
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) list.push_back(reader.text());
  return list;
}

}  // namespace

std::string encode(const CompilerJob& job) {
  ByteWriter writer;
  writer.text(job.source);
  write_list(writer, job.options);
  write_list(writer, job.name_expressions);
  return writer.take();
}

Result<CompilerJob> decode_job(std::string_view bytes) {
  ByteReader reader(bytes);
  CompilerJob job;
  job.source = reader.text();
  job.options = read_list(reader);
  job.name_expressions = read_list(reader);
  if (!reader.complete()) return Error{"the compile job is malformed", "", {}};
  return job;
}

std::string encode(const CompilerOutput& output) {
  ByteWriter writer;
  writer.number(output.nvrtc_result);
  writer.text(output.log);
  writer.text(output.ptx);
  writer.text(output.cubin);
  write_list(writer, output.lowered_names);
  writer.number(output.compile_us);
  writer.text(output.ptx_fingerprint);
  return writer.take();
}

Result<CompilerOutput> decode_output(std::string_view bytes) {
  ByteReader reader(bytes);
  CompilerOutput output;
  output.nvrtc_result = reader.number();
  output.log = reader.text();
  output.ptx = reader.text();
  output.cubin = reader.text();
  output.lowered_names = read_list(reader);
  output.compile_us = reader.number();
  output.ptx_fingerprint = reader.text();
  if (!reader.complete()) return Error{"the compiler's answer is malformed", "", {}};
  return output;
}

std::string encode(const WorkerGreeting& greeting) {
  ByteWriter writer;
  writer.text(greeting.compiler_version);
  writer.number(greeting.header_fingerprint);
  writer.number(greeting.protection_bits);
  return writer.take();
}

Result<WorkerGreeting> decode_greeting(std::string_view bytes) {
  ByteReader reader(bytes);
  WorkerGreeting greeting;
  greeting.compiler_version = reader.text();
  greeting.header_fingerprint = reader.number();
  greeting.protection_bits = reader.number();
  if (!reader.complete()) return Error{"the worker's greeting is malformed", "", {}};
  return greeting;
}

}  // namespace kw
