#pragma once
// Writing Thrift's compact protocol, as far as Parquet's page headers and footer need it:
// github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

enum class ThriftType : std::uint8_t { i32 = 5, i64 = 6, binary = 8, list = 9, structure = 12 };

class ThriftWriter {
 public:
  void i32(int field, std::int32_t value) { integer(field, ThriftType::i32, value); }
  void i64(int field, std::int64_t value) { integer(field, ThriftType::i64, value); }
  void text(int field, std::string_view value) {
    head(field, ThriftType::binary);
    raw_text(value);
  }
  // A struct as a field; end_struct() closes it.
  void begin_struct(int field) {
    head(field, ThriftType::structure);
    begin_element();
  }
  // A struct as an element of a list.
  void begin_element() {
    outer_.push_back(last_field_);
    last_field_ = 0;
  }
  void end_struct() {
    bytes_ += '\0';
    last_field_ = outer_.back();
    outer_.pop_back();
  }
  void begin_list(int field, ThriftType element, std::size_t count) {
    head(field, ThriftType::list);
    const auto type = static_cast<std::uint8_t>(element);
    if (count < 15) {
      bytes_ += static_cast<char>(count << 4 | type);
    } else {
      bytes_ += static_cast<char>(0xf0 | type);
      varint(count);
    }
  }
  // Elements of lists.
  void raw_i32(std::int32_t value) { varint(zigzag(value)); }
  void raw_text(std::string_view value) {
    varint(value.size());
    bytes_.append(value);
  }

  // The outermost struct, ended.
  std::string finish() {
    bytes_ += '\0';
    return std::move(bytes_);
  }

 private:
  static std::uint64_t zigzag(std::int64_t value) {
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  // Fields come in ascending order, their numbers less than 16 apart.
  void head(int field, ThriftType type) {
    bytes_ += static_cast<char>((field - last_field_) << 4 | static_cast<int>(type));
    last_field_ = field;
  }
  void integer(int field, ThriftType type, std::int64_t value) {
    head(field, type);
    varint(zigzag(value));
  }

  std::string bytes_;
  int last_field_ = 0;
  std::vector<int> outer_;  // last_field_ of the structs around this one
};

}  // namespace kw
