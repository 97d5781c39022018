#include "model/weights/safetensors.h"

#include <algorithm>
#include <cstdint>

#include "base/bounded_json.h"
#include "model/weights/float_formats.h"

namespace kw {
namespace {

using Json = nlohmann::json;

Error refuse(const std::string& why) { return Error{"not a valid safetensors file: " + why, "", {}}; }

std::string in_quotes(const std::string& name) { return "'" + name.substr(0, 200) + "'"; }

// A number of the header: whole, not negative, at most 2^63 - 1. 1.0 and "1" are not.
Result<std::int64_t> header_number(const Json& value, const std::string& tensor, const char* field) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
    return refuse("the " + std::string(field) + " of " + in_quotes(tensor) +
                  " is not a whole number from 0 to 2^63 - 1");
  }
  return static_cast<std::int64_t>(value.get<std::uint64_t>());
}

struct HeaderEntry {
  TensorView view;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Result<HeaderEntry> read_entry(const std::string& name, const Json& entry, std::int64_t data_bytes) {
  const auto wrong = [&](const std::string& what) { return refuse(in_quotes(name) + " " + what); };
  if (!entry.is_object()) return wrong("is not described by an object");
  for (const auto& [key, value] : entry.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return wrong("has the unknown field " + in_quotes(key));
  }
  const auto dtype = entry.find("dtype");
  const auto shape = entry.find("shape");
  const auto offsets = entry.find("data_offsets");
  if (dtype == entry.end() || shape == entry.end() || offsets == entry.end()) {
    return wrong("lacks dtype, shape or data_offsets");
  }

  HeaderEntry result;
  result.view.name = name;
  if (!dtype->is_string()) return wrong("has a dtype that is not a string");
  const auto type = element_type_from_safetensors(dtype->get_ref<const std::string&>());
  if (!type) return wrong("has the unknown dtype " + in_quotes(dtype->get_ref<const std::string&>()));
  result.view.type = *type;

  if (!shape->is_array()) return wrong("has a shape that is not a list");
  if (shape->size() > max_tensor_dimensions) {
    return wrong("has more than " + std::to_string(max_tensor_dimensions) + " dimensions");
  }
  for (const Json& size : *shape) {
    KW_TRY(const std::int64_t checked, header_number(size, name, "shape"));
    result.view.shape.push_back(checked);
  }
  const auto count = element_count(result.view.shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(bytes_of(*type)), &bytes)) {
    return wrong("has the shape " + to_string(result.view.shape) + ", more than 2^63 bytes");
  }

  if (!offsets->is_array() || offsets->size() != 2) return wrong("has data_offsets that are not two numbers");
  KW_TRY(result.begin, header_number((*offsets)[0], name, "data_offsets"));
  KW_TRY(result.end, header_number((*offsets)[1], name, "data_offsets"));
  if (result.begin > result.end) return wrong("ends before it begins");
  if (result.end > data_bytes) return wrong("reaches beyond the end of the file");
  if (result.end - result.begin != bytes) {
    return wrong("has " + std::to_string(result.end - result.begin) + " bytes, but its shape " +
                 to_string(result.view.shape) + " and type need " + std::to_string(bytes));
  }
  return result;
}

Result<std::map<std::string, std::string>> read_metadata(const Json& object) {
  if (!object.is_object()) return refuse("__metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return refuse("__metadata__ holds " + in_quotes(key) + ", which is not a string");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

}  // namespace

Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> file) {
  constexpr std::size_t length_bytes = 8;
  if (file.size() < length_bytes) return refuse("it is shorter than the length of its header");
  const auto header_bytes = load_unaligned<std::uint64_t>(file.data());
  if (header_bytes > max_safetensors_header_bytes) return refuse("its header would be longer than 100 MB");
  if (header_bytes > file.size() - length_bytes) return refuse("its header is longer than the file");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + length_bytes, header_bytes);
  if (!header.starts_with('{')) return refuse("its header does not start with '{'");
  const auto data = file.subspan(length_bytes + header_bytes);

  const auto json = parse_bounded_json(header, JsonBounds{.max_depth = 4, .min_bytes_per_value = 4});
  if (!json.ok()) return refuse("its header is " + json.error().message);

  SafetensorsContent content;
  std::vector<HeaderEntry> entries;
  for (const auto& [name, value] : json->items()) {
    if (name == "__metadata__") {
      KW_TRY(content.metadata, read_metadata(value));
      continue;
    }
    KW_TRY(HeaderEntry entry, read_entry(name, value, static_cast<std::int64_t>(data.size())));
    entries.push_back(std::move(entry));
  }
  // Empty tensors share their place with what follows them.
  std::ranges::sort(entries, [](const HeaderEntry& left, const HeaderEntry& right) {
    return std::tie(left.begin, left.end, left.view.name) < std::tie(right.begin, right.end, right.view.name);
  });
  std::int64_t filled = 0;
  content.tensors.reserve(entries.size());
  for (HeaderEntry& entry : entries) {
    if (entry.begin < filled) return refuse(in_quotes(entry.view.name) + " overlaps the tensor before it");
    if (entry.begin > filled) return refuse("there is a hole before " + in_quotes(entry.view.name));
    filled = entry.end;
    entry.view.bytes =
        data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin));
    content.tensors.push_back(std::move(entry.view));
  }
  if (static_cast<std::size_t>(filled) != data.size()) {
    return refuse(std::to_string(data.size() - static_cast<std::size_t>(filled)) +
                  " bytes at its end belong to no tensor");
  }
  return content;
}

SafetensorsFile::SafetensorsFile(MappedFile file, SafetensorsContent content)
    : file_(std::move(file)), content_(std::move(content)) {
  for (std::size_t i = 0; i < content_.tensors.size(); ++i) index_[content_.tensors[i].name] = i;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  return read(MappedFile::open(path), path);
}

Result<SafetensorsFile> SafetensorsFile::open_no_link(const std::filesystem::path& path) {
  return read(MappedFile::open_no_link(path), path);
}

Result<SafetensorsFile> SafetensorsFile::read(Result<MappedFile> mapped, const std::filesystem::path& path) {
  KW_TRY(MappedFile file, std::move(mapped));
  auto content = parse_safetensors(file.bytes());
  if (!content.ok()) {
    Error error = std::move(content).error();
    error.where.file = path.string();
    return error;
  }
  return SafetensorsFile(std::move(file), std::move(*content));
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &content_.tensors[found->second];
}

}  // namespace kw
