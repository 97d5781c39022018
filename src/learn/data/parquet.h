#pragma once
// Tables as Parquet files, so that other frameworks can read what a store holds. The plainest form of the format: one
// page for each column of a row group, plain encoding, no compression; every column may have missing values. Columns
// may be members of a struct, or of the structs in a list. Format: github.com/apache/parquet-format (parquet.thrift,
// Encodings.md).

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kw {

enum class ParquetType : std::uint8_t { text, integer, number };

struct ParquetColumn {
  std::string name;
  ParquetType type = ParquetType::text;
  std::string of{};      // the struct or list that it is a member of; members of one stand together
  bool in_list = false;  // `of` is a list of structs; texts only
};

// Missing, or a value of the column's type, or the texts of a list, as many in each of its members.
using ParquetCell = std::variant<std::monostate, std::string, std::int64_t, double, std::vector<std::string>>;

class ParquetWriter {
 public:
  // Writes beside `path`; the file has its name once finish() has succeeded.
  static Result<ParquetWriter> create(const std::filesystem::path& path, std::vector<ParquetColumn> columns);
  ParquetWriter(ParquetWriter&&) = default;
  ParquetWriter& operator=(ParquetWriter&&) = default;
  // Removes what is not finished.
  ~ParquetWriter();

  // One cell for each column. A row group that grows past 64 MiB is ended.
  Result<void> add_row(const std::vector<ParquetCell>& cells);
  Result<void> end_group();
  Result<void> finish();

  std::int64_t rows() const { return rows_; }

 private:
  struct Buffer {
    std::string values;
    std::vector<bool> present;    // also false: an empty list
    std::vector<bool> continued;  // lists only: one more of the same list
  };
  struct Chunk {
    std::int64_t offset = 0, bytes = 0, values = 0;  // missing ones are values, too
  };
  struct Group {
    std::int64_t rows = 0;
    std::vector<Chunk> chunks;
  };
  ParquetWriter(std::filesystem::path path, std::vector<ParquetColumn> columns);
  Result<void> add_cell(const ParquetColumn& column, const ParquetCell& cell, Buffer& buffer);
  std::string footer() const;

  std::filesystem::path path_, part_;
  std::vector<ParquetColumn> columns_;
  std::ofstream file_;
  std::int64_t offset_ = 0, rows_ = 0, group_rows_ = 0;
  std::vector<Buffer> buffers_;
  std::size_t buffered_bytes_ = 0;
  std::vector<Group> groups_;
};

}  // namespace kw
