#pragma once
// Tables as Parquet files, so that other frameworks can read what a store holds. The plainest form of the format: one
// page for each column of a row group, plain encoding, no compression; every column may have missing values.
// Format: github.com/apache/parquet-format (parquet.thrift, Encodings.md).

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
};

// Missing, or a value of the column's type.
using ParquetCell = std::variant<std::monostate, std::string, std::int64_t, double>;

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
    std::vector<bool> present;
  };
  struct Chunk {
    std::int64_t offset = 0, bytes = 0;
  };
  struct Group {
    std::int64_t rows = 0;
    std::vector<Chunk> chunks;
  };
  ParquetWriter(std::filesystem::path path, std::vector<ParquetColumn> columns);
  std::string footer() const;

  std::filesystem::path path_, part_;
  std::vector<ParquetColumn> columns_;
  std::ofstream file_;
  std::int64_t offset_ = 0, rows_ = 0;
  std::vector<Buffer> buffers_;
  std::size_t buffered_bytes_ = 0;
  std::vector<Group> groups_;
};

}  // namespace kw
