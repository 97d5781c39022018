#include "learn/data/parquet.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "learn/data/thrift_compact.h"

namespace kw {
namespace {

constexpr std::string_view magic = "PAR1";
constexpr std::size_t most_group_bytes = std::size_t{64} << 20;
// A page's size is a 32-bit number; far below that a row is refused.
constexpr std::size_t most_cell_bytes = std::size_t{256} << 20;

static_assert(std::endian::native == std::endian::little, "plain values are stored as they lie in memory");

// Numbers of parquet.thrift.
constexpr int type_int64 = 2, type_double = 5, type_byte_array = 6;
constexpr int repetition_optional = 1, converted_utf8 = 0;
constexpr int encoding_plain = 0, encoding_rle = 3, codec_uncompressed = 0, page_data = 0;

int physical_type(ParquetType type) {
  switch (type) {
    case ParquetType::text:
      return type_byte_array;
    case ParquetType::integer:
      return type_int64;
    case ParquetType::number:
      return type_double;
  }
  return type_byte_array;
}

template <class Value>
void append_bytes(std::string& out, Value value) {
  char bytes[sizeof(Value)];
  std::memcpy(bytes, &value, sizeof(Value));
  out.append(bytes, sizeof(Value));
}

// Which values are there, as runs: Encodings.md, "Run Length Encoding / Bit-Packing Hybrid", with a bit width of 1.
std::string definition_levels(const std::vector<bool>& present) {
  std::string runs;
  for (std::size_t at = 0; at < present.size();) {
    std::size_t end = at;
    while (end < present.size() && present[end] == present[at]) ++end;
    std::uint64_t head = static_cast<std::uint64_t>(end - at) << 1;
    for (; head >= 0x80; head >>= 7) runs += static_cast<char>(head | 0x80);
    runs += static_cast<char>(head);
    runs += present[at] ? '\1' : '\0';
    at = end;
  }
  std::string levels;
  append_bytes(levels, static_cast<std::uint32_t>(runs.size()));
  return levels + runs;
}

std::string page_head(std::size_t rows, std::size_t bytes) {
  ThriftWriter page;
  page.i32(1, page_data);
  page.i32(2, static_cast<std::int32_t>(bytes));
  page.i32(3, static_cast<std::int32_t>(bytes));
  page.begin_struct(5);
  page.i32(1, static_cast<std::int32_t>(rows));
  page.i32(2, encoding_plain);
  page.i32(3, encoding_rle);
  page.i32(4, encoding_rle);
  page.end_struct();
  return page.finish();
}

}  // namespace

ParquetWriter::ParquetWriter(std::filesystem::path path, std::vector<ParquetColumn> columns)
    : path_(std::move(path)), part_(path_.string() + ".part"), columns_(std::move(columns)), buffers_(columns_.size()) {
  file_.open(part_, std::ios::binary | std::ios::trunc);
  file_ << magic;
  offset_ = static_cast<std::int64_t>(magic.size());
}

ParquetWriter::~ParquetWriter() {
  if (!file_.is_open()) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

Result<ParquetWriter> ParquetWriter::create(const std::filesystem::path& path, std::vector<ParquetColumn> columns) {
  KW_CHECK(!columns.empty());
  ParquetWriter writer(path, std::move(columns));
  if (!writer.file_) return Error{"cannot write", "does its folder exist?", {path.string(), 0, 0}};
  return writer;
}

Result<void> ParquetWriter::add_row(const std::vector<ParquetCell>& cells) {
  KW_CHECK(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Buffer& buffer = buffers_[i];
    buffer.present.push_back(cells[i].index() != 0);
    if (cells[i].index() == 0) continue;
    KW_CHECK(cells[i].index() == static_cast<std::size_t>(columns_[i].type) + 1);
    const std::size_t before = buffer.values.size();
    if (const auto* text = std::get_if<std::string>(&cells[i])) {
      if (text->size() > most_cell_bytes) return Error{"a value of " + columns_[i].name + " is too long", "", {}};
      append_bytes(buffer.values, static_cast<std::uint32_t>(text->size()));
      buffer.values += *text;
    } else if (const auto* whole = std::get_if<std::int64_t>(&cells[i])) {
      append_bytes(buffer.values, *whole);
    } else {
      append_bytes(buffer.values, std::get<double>(cells[i]));
    }
    buffered_bytes_ += buffer.values.size() - before;
  }
  ++rows_;
  return buffered_bytes_ > most_group_bytes ? end_group() : Result<void>();
}

Result<void> ParquetWriter::end_group() {
  const std::size_t rows = buffers_.front().present.size();
  if (rows == 0) return {};
  Group group{static_cast<std::int64_t>(rows), {}};
  for (Buffer& buffer : buffers_) {
    const std::string levels = definition_levels(buffer.present);
    const std::string head = page_head(rows, levels.size() + buffer.values.size());
    file_ << head << levels << buffer.values;
    const auto bytes = static_cast<std::int64_t>(head.size() + levels.size() + buffer.values.size());
    group.chunks.push_back({offset_, bytes});
    offset_ += bytes;
    buffer = {};
  }
  buffered_bytes_ = 0;
  groups_.push_back(std::move(group));
  if (!file_) return Error{"writing failed; is the disk full?", "", {part_.string(), 0, 0}};
  return {};
}

std::string ParquetWriter::footer() const {
  ThriftWriter meta;
  meta.i32(1, 1);  // version
  meta.begin_list(2, ThriftType::structure, columns_.size() + 1);
  meta.begin_element();  // the root of the schema
  meta.text(4, "schema");
  meta.i32(5, static_cast<std::int32_t>(columns_.size()));
  meta.end_struct();
  for (const ParquetColumn& column : columns_) {
    meta.begin_element();
    meta.i32(1, physical_type(column.type));
    meta.i32(3, repetition_optional);
    meta.text(4, column.name);
    if (column.type == ParquetType::text) {
      meta.i32(6, converted_utf8);
      meta.begin_struct(10);  // logical type: a union whose first member, an empty struct, says string
      meta.begin_struct(1);
      meta.end_struct();
      meta.end_struct();
    }
    meta.end_struct();
  }
  meta.i64(3, rows_);
  meta.begin_list(4, ThriftType::structure, groups_.size());
  for (const Group& group : groups_) {
    std::int64_t bytes = 0;
    for (const Chunk& chunk : group.chunks) bytes += chunk.bytes;
    meta.begin_element();
    meta.begin_list(1, ThriftType::structure, columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Chunk& chunk = group.chunks[i];
      meta.begin_element();
      meta.i64(2, chunk.offset);
      meta.begin_struct(3);
      meta.i32(1, physical_type(columns_[i].type));
      meta.begin_list(2, ThriftType::i32, 2);
      meta.raw_i32(encoding_plain);
      meta.raw_i32(encoding_rle);
      meta.begin_list(3, ThriftType::binary, 1);
      meta.raw_text(columns_[i].name);
      meta.i32(4, codec_uncompressed);
      meta.i64(5, group.rows);
      meta.i64(6, chunk.bytes);
      meta.i64(7, chunk.bytes);
      meta.i64(9, chunk.offset);
      meta.end_struct();
      meta.end_struct();
    }
    meta.i64(2, bytes);
    meta.i64(3, group.rows);
    meta.end_struct();
  }
  meta.text(6, "kernelwright");
  return meta.finish();
}

Result<void> ParquetWriter::finish() {
  KW_TRY_VOID(end_group());
  std::string end = footer();
  append_bytes(end, static_cast<std::uint32_t>(end.size()));
  file_ << end << magic;
  file_.close();
  if (!file_) return Error{"writing failed; is the disk full?", "", {part_.string(), 0, 0}};
  std::error_code problem;
  std::filesystem::rename(part_, path_, problem);
  if (problem) return Error{"cannot rename: " + problem.message(), "", {path_.string(), 0, 0}};
  return {};
}

}  // namespace kw
