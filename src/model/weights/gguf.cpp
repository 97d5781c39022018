#include "model/weights/gguf.h"

#include <algorithm>
#include <optional>
#include <set>
#include <type_traits>

#include "model/weights/float_formats.h"

namespace kw {
namespace {

Error refuse(const std::string& why) { return Error{"not a valid GGUF file: " + why, "", {}}; }

std::string in_quotes(std::string_view name) { return "'" + std::string(name.substr(0, 200)) + "'"; }

// Numbers of the types of metadata values, from the specification.
enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  template <class T>
  Result<T> number() {
    if (left() < sizeof(T)) return refuse("it ends within its header");
    const T value = load_unaligned<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return value;
  }

  Result<std::string_view> string(std::size_t max_bytes, const char* what) {
    KW_TRY(const auto length, number<std::uint64_t>());
    if (length > max_bytes)
      return refuse(std::string(what) + " is longer than " + std::to_string(max_bytes) + " bytes");
    if (length > left()) return refuse(std::string(what) + " is longer than the file");
    const auto* text = reinterpret_cast<const char*>(bytes_.data()) + position_;
    position_ += length;
    return std::string_view(text, length);
  }

  // A byte of an array becomes eight in memory, so there is a bound for all arrays together.
  bool may_keep(std::uint64_t elements) {
    if (elements > max_gguf_array_elements - kept_) return false;
    kept_ += elements;
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::uint64_t kept_ = 0;
};

template <class Stored, class Kept>
Result<GgufValue> read_numbers(Cursor& cursor, std::uint64_t count) {
  if (count > cursor.left() / sizeof(Stored)) return refuse("an array is longer than the file");
  if (!cursor.may_keep(count)) return refuse("its arrays have more than 2^25 elements");
  std::vector<Kept> values;
  values.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    KW_TRY(const auto value, cursor.number<Stored>());
    if (std::is_same_v<Kept, bool> && static_cast<double>(value) > 1) return refuse("a truth value is neither 0 nor 1");
    values.push_back(static_cast<Kept>(value));
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> read_values(Cursor& cursor, ValueType type, std::uint64_t count) {
  switch (type) {
    case ValueType::u8:
      return read_numbers<std::uint8_t, std::uint64_t>(cursor, count);
    case ValueType::i8:
      return read_numbers<std::int8_t, std::int64_t>(cursor, count);
    case ValueType::u16:
      return read_numbers<std::uint16_t, std::uint64_t>(cursor, count);
    case ValueType::i16:
      return read_numbers<std::int16_t, std::int64_t>(cursor, count);
    case ValueType::u32:
      return read_numbers<std::uint32_t, std::uint64_t>(cursor, count);
    case ValueType::i32:
      return read_numbers<std::int32_t, std::int64_t>(cursor, count);
    case ValueType::f32:
      return read_numbers<float, double>(cursor, count);
    case ValueType::boolean:
      return read_numbers<std::uint8_t, bool>(cursor, count);
    case ValueType::u64:
      return read_numbers<std::uint64_t, std::uint64_t>(cursor, count);
    case ValueType::i64:
      return read_numbers<std::int64_t, std::int64_t>(cursor, count);
    case ValueType::f64:
      return read_numbers<double, double>(cursor, count);
    case ValueType::string: {
      if (count > cursor.left() / sizeof(std::uint64_t)) return refuse("an array is longer than the file");
      if (!cursor.may_keep(count)) return refuse("its arrays have more than 2^25 elements");
      std::vector<std::string_view> strings;
      strings.reserve(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        KW_TRY(const auto text, cursor.string(SIZE_MAX, "a string"));
        strings.push_back(text);
      }
      return GgufValue(std::move(strings));
    }
    case ValueType::array:
      return refuse("it holds an array of arrays");
  }
  return refuse("a value has the unknown type " + std::to_string(static_cast<std::uint32_t>(type)));
}

Result<GgufValue> read_value(Cursor& cursor) {
  KW_TRY(const auto type, cursor.number<std::uint32_t>());
  if (static_cast<ValueType>(type) == ValueType::array) {
    KW_TRY(const auto element_type, cursor.number<std::uint32_t>());
    KW_TRY(const auto count, cursor.number<std::uint64_t>());
    return read_values(cursor, static_cast<ValueType>(element_type), count);
  }
  KW_TRY(const GgufValue one, read_values(cursor, static_cast<ValueType>(type), 1));
  return std::visit(
      [](const auto& values) -> GgufValue {
        if constexpr (requires { values.front(); } &&
                      !std::is_same_v<std::decay_t<decltype(values)>, std::string_view>) {
          return typename std::decay_t<decltype(values)>::value_type(values.front());
        } else {
          return values;
        }
      },
      one);
}

struct TableEntry {
  GgufTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<TableEntry> read_table_entry(Cursor& cursor, std::uint32_t alignment) {
  TableEntry entry;
  KW_TRY(entry.tensor.name, cursor.string(max_gguf_tensor_name_bytes, "the name of a tensor"));
  const auto wrong = [&](const std::string& what) {
    return refuse("the tensor " + in_quotes(entry.tensor.name) + " " + what);
  };
  KW_TRY(const auto dimensions, cursor.number<std::uint32_t>());
  if (dimensions == 0 || dimensions > max_gguf_dimensions) {
    return wrong("has " + std::to_string(dimensions) + " dimensions, not 1 to 4");
  }
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    KW_TRY(const auto size, cursor.number<std::uint64_t>());
    if (size == 0 || size > INT64_MAX) return wrong("has a dimension of 0 or beyond 2^63 - 1");
    entry.tensor.shape.insert(entry.tensor.shape.begin(), static_cast<std::int64_t>(size));
  }
  KW_TRY(const auto type, cursor.number<std::uint32_t>());
  KW_TRY(entry.offset, cursor.number<std::uint64_t>());
  const auto format = block_format_from_number(type);
  if (!format) return wrong("has the type " + ggml_type_name(type) + ", which cannot be read");
  entry.tensor.format = *format;

  const BlockLayout layout = block_layout(*format);
  const auto count = element_count(entry.tensor.shape);
  if (!count) return wrong("has more than 2^63 elements");
  if (entry.tensor.shape.back() % layout.elements != 0) {
    return wrong("has rows of " + std::to_string(entry.tensor.shape.back()) + " elements, not whole blocks of " +
                 std::to_string(layout.elements));
  }
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(*count / layout.elements),
                             static_cast<std::uint64_t>(layout.bytes), &entry.bytes)) {
    return wrong("has more than 2^64 bytes");
  }
  if (entry.offset % alignment != 0) return wrong("does not start at a multiple of the alignment");
  return entry;
}

Result<std::uint32_t> read_alignment(const GgufContent& content) {
  constexpr std::uint32_t default_alignment = 32;
  const GgufValue* value = content.find("general.alignment");
  if (value == nullptr) return default_alignment;
  const auto* number = std::get_if<std::uint64_t>(value);
  if (number == nullptr || *number == 0 || (*number & (*number - 1)) != 0 || *number > max_gguf_alignment) {
    return refuse("general.alignment is not a power of two up to 65536");
  }
  return static_cast<std::uint32_t>(*number);
}

Result<void> place_tensors(std::vector<TableEntry>& entries, std::span<const std::byte> data) {
  for (TableEntry& entry : entries) {
    if (entry.offset > data.size() || entry.bytes > data.size() - entry.offset) {
      return refuse("the tensor " + in_quotes(entry.tensor.name) + " reaches beyond the end of the file");
    }
    entry.tensor.bytes = data.subspan(entry.offset, entry.bytes);
  }
  std::vector<const TableEntry*> by_offset;
  for (const TableEntry& entry : entries) by_offset.push_back(&entry);
  std::ranges::sort(by_offset, {}, &TableEntry::offset);
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    if (by_offset[i - 1]->offset + by_offset[i - 1]->bytes > by_offset[i]->offset) {
      return refuse("the tensor " + in_quotes(by_offset[i]->tensor.name) + " overlaps " +
                    in_quotes(by_offset[i - 1]->tensor.name));
    }
  }
  return {};
}

}  // namespace

const GgufValue* GgufContent::find(std::string_view key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

const GgufTensor* GgufContent::find_tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &GgufTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

Result<GgufContent> parse_gguf(std::span<const std::byte> file) {
  Cursor cursor(file);
  KW_TRY(const auto magic, cursor.number<std::uint32_t>());
  if (magic != 0x46554747u) return refuse("it does not start with 'GGUF'");
  GgufContent content;
  KW_TRY(content.version, cursor.number<std::uint32_t>());
  if (content.version != 2 && content.version != 3) {
    return refuse("its version is " + std::to_string(content.version) + ", not 2 or 3 in little-endian order");
  }
  KW_TRY(const auto tensor_count, cursor.number<std::uint64_t>());
  KW_TRY(const auto value_count, cursor.number<std::uint64_t>());
  // The least that one of each takes in the file, so that a count cannot ask for more memory than the file is large.
  constexpr std::size_t least_value_bytes = 8 + 4 + 1;
  constexpr std::size_t least_tensor_bytes = 8 + 4 + 8 + 4 + 8;
  if (value_count > cursor.left() / least_value_bytes) return refuse("it has more metadata than bytes");
  for (std::uint64_t i = 0; i < value_count; ++i) {
    KW_TRY(const auto key, cursor.string(max_gguf_key_bytes, "a key"));
    if (key.empty()) return refuse("a key is empty");
    auto value = read_value(cursor);
    if (!value.ok()) return Error{value.error().message + " (at " + in_quotes(key) + ")", "", {}};
    if (!content.metadata.emplace(key, std::move(*value)).second)
      return refuse("the key " + in_quotes(key) + " comes twice");
  }
  KW_TRY(const std::uint32_t alignment, read_alignment(content));

  if (tensor_count > cursor.left() / least_tensor_bytes) return refuse("it has more tensors than bytes");
  std::vector<TableEntry> entries;
  entries.reserve(tensor_count);
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    KW_TRY(TableEntry entry, read_table_entry(cursor, alignment));
    if (!names.insert(entry.tensor.name).second) {
      return refuse("the tensor " + in_quotes(entry.tensor.name) + " comes twice");
    }
    entries.push_back(std::move(entry));
  }
  const std::size_t data_start = (cursor.position() + alignment - 1) / alignment * alignment;
  if (data_start > file.size() && !entries.empty()) return refuse("it ends before its tensors");
  KW_TRY_VOID(place_tensors(entries, file.subspan(std::min(data_start, file.size()))));
  content.tensors.reserve(entries.size());
  for (TableEntry& entry : entries) content.tensors.push_back(std::move(entry.tensor));
  return content;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  KW_TRY(MappedFile file, MappedFile::open(path));
  auto content = parse_gguf(file.bytes());
  if (!content.ok()) {
    Error error = std::move(content).error();
    error.where.file = path.string();
    return error;
  }
  return GgufFile(std::move(file), std::move(*content));
}

}  // namespace kw
