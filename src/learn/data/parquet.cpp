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
constexpr int repetition_required = 0, repetition_optional = 1, repetition_repeated = 2;
constexpr int converted_utf8 = 0, converted_list = 3, logical_string = 1, logical_list = 3;
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

// Which values are there (or go on with a list), as runs: Encodings.md, "Run Length Encoding / Bit-Packing Hybrid",
// with a bit width of 1.
std::string level_runs(const std::vector<bool>& levels_of_values) {
  std::string runs;
  for (std::size_t at = 0; at < levels_of_values.size();) {
    std::size_t end = at;
    while (end < levels_of_values.size() && levels_of_values[end] == levels_of_values[at]) ++end;
    std::uint64_t head = static_cast<std::uint64_t>(end - at) << 1;
    for (; head >= 0x80; head >>= 7) runs += static_cast<char>(head | 0x80);
    runs += static_cast<char>(head);
    runs += levels_of_values[at] ? '\1' : '\0';
    at = end;
  }
  std::string levels;
  append_bytes(levels, static_cast<std::uint32_t>(runs.size()));
  return levels + runs;
}

std::string page_head(std::size_t values, std::size_t bytes) {
  ThriftWriter page;
  page.i32(1, page_data);
  page.i32(2, static_cast<std::int32_t>(bytes));
  page.i32(3, static_cast<std::int32_t>(bytes));
  page.begin_struct(5);
  page.i32(1, static_cast<std::int32_t>(values));
  page.i32(2, encoding_plain);
  page.i32(3, encoding_rle);
  page.i32(4, encoding_rle);
  page.end_struct();
  return page.finish();
}

void append_text(std::string& out, const std::string& text) {
  append_bytes(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Columns that begin something of their own: plain ones, and the first of each struct or list.
bool begins_field(const std::vector<ParquetColumn>& columns, std::size_t i) {
  return columns[i].of.empty() || i == 0 || columns[i - 1].of != columns[i].of;
}

std::vector<std::string> path_of(const ParquetColumn& column) {
  if (column.of.empty()) return {column.name};
  if (!column.in_list) return {column.of, column.name};
  return {column.of, "list", "element", column.name};
}

// A union whose member, an empty struct, says what it is.
void write_logical_type(ThriftWriter& meta, int member) {
  meta.begin_struct(10);
  meta.begin_struct(member);
  meta.end_struct();
  meta.end_struct();
}

void write_group(ThriftWriter& meta, int repetition, const std::string& name, std::size_t children, bool list) {
  meta.begin_element();
  meta.i32(3, repetition);
  meta.text(4, name);
  meta.i32(5, static_cast<std::int32_t>(children));
  if (list) {
    meta.i32(6, converted_list);
    write_logical_type(meta, logical_list);
  }
  meta.end_struct();
}

// LogicalTypes.md, "Lists": a required list of required structs, so that a level is one bit.
void write_field_of(ThriftWriter& meta, const std::vector<ParquetColumn>& columns, std::size_t first) {
  const ParquetColumn& column = columns[first];
  std::size_t members = 0;
  for (const ParquetColumn& other : columns) members += other.of == column.of ? 1u : 0u;
  if (!column.in_list) return write_group(meta, repetition_required, column.of, members, false);
  write_group(meta, repetition_required, column.of, 1, true);
  write_group(meta, repetition_repeated, "list", 1, false);
  write_group(meta, repetition_required, "element", members, false);
}

void write_schema(ThriftWriter& meta, const std::vector<ParquetColumn>& columns) {
  std::size_t fields = 0, elements = 1 + columns.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!begins_field(columns, i)) continue;
    ++fields;
    if (!columns[i].of.empty()) elements += columns[i].in_list ? 3 : 1;
  }
  meta.begin_list(2, ThriftType::structure, elements);
  meta.begin_element();  // the root
  meta.text(4, "schema");
  meta.i32(5, static_cast<std::int32_t>(fields));
  meta.end_struct();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ParquetColumn& column = columns[i];
    if (!column.of.empty() && begins_field(columns, i)) write_field_of(meta, columns, i);
    meta.begin_element();
    meta.i32(1, physical_type(column.type));
    meta.i32(3, column.in_list ? repetition_required : repetition_optional);
    meta.text(4, column.name);
    if (column.type == ParquetType::text) {
      meta.i32(6, converted_utf8);
      write_logical_type(meta, logical_string);
    }
    meta.end_struct();
  }
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

Result<void> ParquetWriter::add_cell(const ParquetColumn& column, const ParquetCell& cell, Buffer& buffer) {
  const Error too_long{"a value of " + column.name + " is too long", "", {}};
  if (const auto* texts = std::get_if<std::vector<std::string>>(&cell)) {
    KW_CHECK(column.in_list && column.type == ParquetType::text);
    for (const std::string& text : *texts) {
      if (text.size() > most_cell_bytes) return too_long;
      buffer.continued.push_back(&text != texts->data());
      buffer.present.push_back(true);
      append_text(buffer.values, text);
    }
    if (!texts->empty()) return {};
    buffer.continued.push_back(false);
    buffer.present.push_back(false);
    return {};
  }
  KW_CHECK(!column.in_list);
  buffer.present.push_back(cell.index() != 0);
  if (cell.index() == 0) return {};
  KW_CHECK(cell.index() == static_cast<std::size_t>(column.type) + 1);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    if (text->size() > most_cell_bytes) return too_long;
    append_text(buffer.values, *text);
  } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    append_bytes(buffer.values, *whole);
  } else {
    append_bytes(buffer.values, std::get<double>(cell));
  }
  return {};
}

Result<void> ParquetWriter::add_row(const std::vector<ParquetCell>& cells) {
  KW_CHECK(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // A reader puts the members of a list together by their number.
    if (i > 0 && columns_[i].in_list && columns_[i - 1].of == columns_[i].of)
      KW_CHECK(std::get<4>(cells[i]).size() == std::get<4>(cells[i - 1]).size());
    const std::size_t before = buffers_[i].values.size();
    KW_TRY_VOID(add_cell(columns_[i], cells[i], buffers_[i]));
    buffered_bytes_ += buffers_[i].values.size() - before;
  }
  ++rows_;
  ++group_rows_;
  return buffered_bytes_ > most_group_bytes ? end_group() : Result<void>();
}

Result<void> ParquetWriter::end_group() {
  if (group_rows_ == 0) return {};
  Group group{group_rows_, {}};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Buffer& buffer = buffers_[i];
    std::string levels = columns_[i].in_list ? level_runs(buffer.continued) : "";
    levels += level_runs(buffer.present);
    const std::string head = page_head(buffer.present.size(), levels.size() + buffer.values.size());
    file_ << head << levels << buffer.values;
    const auto bytes = static_cast<std::int64_t>(head.size() + levels.size() + buffer.values.size());
    group.chunks.push_back({offset_, bytes, static_cast<std::int64_t>(buffer.present.size())});
    offset_ += bytes;
    buffer = {};
  }
  buffered_bytes_ = 0;
  group_rows_ = 0;
  groups_.push_back(std::move(group));
  if (!file_) return Error{"writing failed; is the disk full?", "", {part_.string(), 0, 0}};
  return {};
}

std::string ParquetWriter::footer() const {
  ThriftWriter meta;
  meta.i32(1, 1);  // version
  write_schema(meta, columns_);
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
      const std::vector<std::string> path = path_of(columns_[i]);
      meta.begin_list(3, ThriftType::binary, path.size());
      for (const std::string& name : path) meta.raw_text(name);
      meta.i32(4, codec_uncompressed);
      meta.i64(5, chunk.values);
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
