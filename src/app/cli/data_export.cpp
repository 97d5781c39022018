#include "app/cli/data_export.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>

#include "app/cli/example_prompts.h"
#include "base/interrupt.h"
#include "learn/data/parquet.h"
#include "learn/data/store.h"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<ParquetColumn>& table_columns() {
  using enum ParquetType;
  static const std::vector<ParquetColumn> columns{
      {"kind", text},         {"split", text},     {"seed", integer},     {"index", integer},       {"writer", text},
      {"level", text},        {"structure", text}, {"fingerprint", text}, {"prompt", text},         {"messages", text},
      {"answer", text},       {"task", text},      {"kernel", text},      {"verdict", text},        {"target", text},
      {"target_level", text}, {"mistake", text},   {"gain", number},      {"speedup_naive", number}};
  return columns;
}

// Nested values as JSON text.
ParquetCell cell_of(const Json& line, const ParquetColumn& column) {
  const auto found = line.find(column.name);
  if (found == line.end() || found->is_null()) return {};
  switch (column.type) {
    case ParquetType::text:
      return found->is_string() ? found->get<std::string>() : dumped(*found);
    case ParquetType::integer:
      return found->is_number_integer() ? ParquetCell(found->get<std::int64_t>()) : ParquetCell();
    case ParquetType::number:
      return found->is_number() ? ParquetCell(found->get<double>()) : ParquetCell();
  }
  return {};
}

class LineWriter {
 public:
  static Result<LineWriter> open(const ExportOptions& options) {
    LineWriter writer;
    if (options.format == ExportFormat::parquet) {
      if (options.out.empty()) return Error{"a Parquet file needs a name", "give it with --out", {}};
      KW_TRY(writer.table_, ParquetWriter::create(options.out, table_columns()));
    } else if (!options.out.empty()) {
      writer.name_ = options.out;
      writer.file_.open(options.out, std::ios::binary);
      if (!writer.file_) return Error{"cannot write", "does its folder exist?", {options.out, 0, 0}};
    }
    return writer;
  }

  Result<void> add(const Json& line) {
    if (!table_) {
      lines() << dumped(line) << "\n";
      return {};
    }
    std::vector<ParquetCell> cells;
    for (const ParquetColumn& column : table_columns()) cells.push_back(cell_of(line, column));
    return table_->add_row(cells);
  }
  Result<void> end_shard() { return table_ ? table_->end_group() : Result<void>(); }
  Result<void> finish() {
    if (table_) return table_->finish();
    lines().flush();
    if (!lines()) return Error{"writing failed; is the disk full?", "", {name_, 0, 0}};
    return {};
  }

 private:
  std::ostream& lines() { return name_.empty() ? std::cout : file_; }

  std::optional<ParquetWriter> table_;
  std::string name_;
  std::ofstream file_;
};

}  // namespace

Result<std::uint64_t> export_store(const ExportOptions& options) {
  KW_TRY(const std::vector<Shard> shards, open_store(options.folder));
  if (shards.empty())
    return Error{"no finished shard here", "make one with kernelwright data make", {options.folder, 0, 0}};
  std::optional<ExamplePrompts> prompts;
  if (options.style) {
    KW_TRY(prompts, ExamplePrompts::make(*options.style));
  }
  KW_TRY(LineWriter writer, LineWriter::open(options));
  std::uint64_t written = 0;
  for (const Shard& shard : shards) {
    KW_TRY(std::vector<Json> lines, read_shard(shard));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (interrupted()) return Error{"stopped", "the file is not complete", {options.out, 0, 0}};
      Json& line = lines[i];
      const Position where{shard.file.string(), static_cast<int>(i) + 1, 0};
      if (!line.is_object() || !line.contains("task")) return Error{"not an example", "", where};
      if (!options.kind.empty() && text_at(line, "kind") != options.kind) continue;
      if (prompts) {
        if (const auto made = prompts->add(line); !made.ok())
          return Error{made.error().message, made.error().advice, where};
      }
      KW_TRY_VOID(writer.add(line));
      ++written;
    }
    KW_TRY_VOID(writer.end_shard());
  }
  KW_TRY_VOID(writer.finish());
  return written;
}

}  // namespace kw::cli
