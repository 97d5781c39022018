#include "app/cli/task_answer.h"

#include "app/cli/command.h"
#include "base/file.h"
#include "kernel/task/input_values.h"

namespace kw::cli {
namespace {

const char* npy_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return "<f4";
    case Dtype::float16:
      return "<f2";
    case Dtype::bfloat16:
      return "<u2";
    case Dtype::float64:
      return "<f8";
    case Dtype::int32:
      return "<i4";
    case Dtype::int64:
      return "<i8";
    case Dtype::int8:
      return "|i1";
    case Dtype::uint8:
      return "|u1";
    case Dtype::boolean:
      return "|b1";
  }
  KW_CHECK(false);
}

}  // namespace

std::string npy_bytes(Dtype dtype, const std::vector<std::int64_t>& shape, const std::string& bytes) {
  std::string header = std::string("{'descr': '") + npy_type(dtype) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) header += std::to_string(extent) + ",";
  header += "), }";
  constexpr std::size_t before = 10, alignment = 64;  // magic, version, length; the data start at a multiple
  header.append(alignment - 1 - (before + header.size()) % alignment, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + bytes;
}

Result<void> write_answers(const Task& task, const std::vector<Sizes>& sizes, std::uint64_t seed, Precision precision,
                           const std::filesystem::path& folder) {
  KW_TRY(const auto reference, make_reference(task));
  Json all = Json::array();
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    const std::filesystem::path place = folder / std::to_string(at);
    std::error_code error;
    std::filesystem::create_directories(place, error);
    if (error) return Error{"cannot make the folder " + place.string() + ": " + error.message(), "", {}};
    KW_TRY(const auto inputs, make_inputs(task, sizes[at], seed));
    for (const InputTensor& input : inputs)
      KW_TRY_VOID(write_file_atomic(place / (input.name + ".npy"), npy_bytes(input.dtype, input.shape, input.bytes)));
    KW_TRY(const auto outputs, reference->run(inputs, sizes[at], precision));
    for (const OutputTensor& output : outputs)
      KW_TRY_VOID(
          write_file_atomic(place / (output.name + ".npy"), npy_bytes(output.dtype, output.shape, output.bytes)));
    all.push_back(to_json(sizes[at]));
  }
  return write_file_atomic(folder / "sizes.json", all.dump(1));
}

}  // namespace kw::cli
