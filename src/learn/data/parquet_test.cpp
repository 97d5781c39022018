#include "learn/data/parquet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>

#include "base/file.h"

namespace kw {
namespace {

// What a struct of Thrift's compact protocol holds, read without knowing its meaning.
struct Thrift {
  std::int64_t number = 0;
  std::string text;
  std::vector<Thrift> list;
  std::map<int, Thrift> fields;
};

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}
  Thrift structure() {
    Thrift made;
    for (int field = 0;;) {
      const int head = byte();
      if (head == 0) return made;
      EXPECT_NE(head >> 4, 0) << "fields are less than 16 apart";
      field += head >> 4;
      made.fields[field] = value(head & 15);
    }
  }
  std::size_t at() const { return at_; }

 private:
  int byte() {
    EXPECT_LT(at_, bytes_.size());
    return static_cast<unsigned char>(bytes_[at_++]);
  }
  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto next = static_cast<std::uint64_t>(byte());
      number |= (next & 127) << shift;
      if (next < 128) return number;
    }
  }
  Thrift value(int type) {
    Thrift made;
    if (type == 5 || type == 6) {
      const std::uint64_t raw = varint();
      made.number = static_cast<std::int64_t>(raw >> 1) ^ -static_cast<std::int64_t>(raw & 1);
    } else if (type == 8) {
      const std::size_t size = varint();
      made.text = bytes_.substr(at_, size);
      at_ += size;
    } else if (type == 9) {
      const int head = byte();
      const std::uint64_t count = head >> 4 == 15 ? varint() : static_cast<std::uint64_t>(head >> 4);
      for (std::uint64_t i = 0; i < count; ++i) made.list.push_back(value(head & 15));
    } else {
      EXPECT_EQ(type, 12);
      made = structure();
    }
    return made;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// The texts of a column chunk, missing ones as "(none)".
std::vector<std::string> texts_of(std::string_view file, std::size_t offset) {
  ThriftReader reader(file.substr(offset));
  const Thrift head = reader.structure();
  const Thrift& page = head.fields.at(5);
  std::string_view body = file.substr(offset + reader.at(), static_cast<std::size_t>(head.fields.at(3).number));
  const std::size_t level_bytes = word_at(body, 0);
  std::string_view levels = body.substr(4, level_bytes);
  body.remove_prefix(4 + level_bytes);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < levels.size(); at += 2) {  // runs below 64 have one byte
    const int run = static_cast<unsigned char>(levels[at]) >> 1;
    for (int i = 0; i < run; ++i) {
      if (levels[at + 1] == 0) {
        texts.emplace_back("(none)");
        continue;
      }
      const std::size_t size = word_at(body, 0);
      texts.emplace_back(body.substr(4, size));
      body.remove_prefix(4 + size);
    }
  }
  EXPECT_TRUE(body.empty());
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(page.fields.at(1).number));
  return texts;
}

TEST(Parquet, FooterAndPagesSayWhatWasWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "table.parquet";
  auto writer = ParquetWriter::create(
      path, {{"name", ParquetType::text}, {"index", ParquetType::integer}, {"gain", ParquetType::number}});
  ASSERT_TRUE(writer.ok());
  using Row = std::vector<ParquetCell>;
  ASSERT_TRUE(writer->add_row(Row{std::string("first"), std::int64_t{-7}, 1.5}).ok());
  ASSERT_TRUE(writer->add_row(Row{ParquetCell{}, std::int64_t{8}, ParquetCell{}}).ok());
  ASSERT_TRUE(writer->add_row(Row{std::string("größer"), std::int64_t{9}, 2.5}).ok());
  ASSERT_TRUE(writer->end_group().ok());
  ASSERT_TRUE(writer->end_group().ok()) << "an empty group is none";
  ASSERT_TRUE(writer->add_row(Row{std::string(300, 'x'), std::int64_t{1} << 40, 0.25}).ok());
  EXPECT_FALSE(std::filesystem::exists(path)) << "not finished";
  ASSERT_TRUE(writer->finish().ok());

  const std::string file = read_file(path).value();
  EXPECT_EQ(file.substr(0, 4), "PAR1");
  EXPECT_EQ(file.substr(file.size() - 4), "PAR1");
  const std::size_t size = word_at(file, file.size() - 8);
  ThriftReader reader(std::string_view(file).substr(file.size() - 8 - size, size));
  Thrift meta = reader.structure();
  EXPECT_EQ(reader.at(), size);
  EXPECT_EQ(meta.fields.at(3).number, 4);  // rows
  const auto& schema = meta.fields.at(2).list;
  ASSERT_EQ(schema.size(), 4u);
  EXPECT_EQ(schema[0].fields.at(5).number, 3);  // children of the root
  EXPECT_EQ(schema[1].fields.at(4).text, "name");
  EXPECT_EQ(schema[1].fields.at(1).number, 6);  // byte array
  EXPECT_EQ(schema[2].fields.at(1).number, 2);  // int64
  EXPECT_EQ(schema[3].fields.at(1).number, 5);  // double
  const auto& groups = meta.fields.at(4).list;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].fields.at(3).number, 3);
  const auto chunk = [&](std::size_t group, std::size_t column) -> const Thrift& {
    return groups[group].fields.at(1).list[column].fields.at(3);
  };
  const auto offset = [&](std::size_t group, std::size_t column) {
    return static_cast<std::size_t>(chunk(group, column).fields.at(9).number);
  };
  EXPECT_EQ(texts_of(file, offset(0, 0)), (std::vector<std::string>{"first", "(none)", "größer"}));
  EXPECT_EQ(texts_of(file, offset(1, 0)), (std::vector<std::string>{std::string(300, 'x')}));
  // Chunks follow each other without gaps.
  EXPECT_EQ(offset(0, 0), 4u);
  for (std::size_t column = 0; column < 2; ++column)
    EXPECT_EQ(offset(0, column) + static_cast<std::size_t>(chunk(0, column).fields.at(7).number),
              offset(0, column + 1));
  double gain = 0;
  const std::size_t end = offset(1, 2) + static_cast<std::size_t>(chunk(1, 2).fields.at(7).number);
  std::memcpy(&gain, file.data() + end - sizeof gain, sizeof gain);
  EXPECT_EQ(gain, 0.25);
  EXPECT_EQ(end, file.size() - 8 - size);
}

// Members of a struct and of the structs in a list: LogicalTypes.md, "Lists".
TEST(Parquet, StructsAndListsOfStructs) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "table.parquet";
  auto writer = ParquetWriter::create(path, {{"name", ParquetType::text},
                                             {"role", ParquetType::text, "prompt", true},
                                             {"content", ParquetType::text, "prompt", true},
                                             {"index", ParquetType::integer, "extra_info"}});
  ASSERT_TRUE(writer.ok());
  using Row = std::vector<ParquetCell>;
  using Texts = std::vector<std::string>;
  ASSERT_TRUE(writer->add_row(Row{std::string("a"), Texts{"system", "user"}, Texts{"be", "do"}, std::int64_t{1}}).ok());
  ASSERT_TRUE(writer->add_row(Row{std::string("b"), Texts{}, Texts{}, ParquetCell{}}).ok());
  ASSERT_TRUE(writer->add_row(Row{std::string("c"), Texts{"user"}, Texts{"more"}, std::int64_t{3}}).ok());
  ASSERT_TRUE(writer->finish().ok());

  const std::string file = read_file(path).value();
  const std::size_t size = word_at(file, file.size() - 8);
  Thrift meta = ThriftReader(std::string_view(file).substr(file.size() - 8 - size, size)).structure();
  std::vector<std::string> names;
  for (const Thrift& element : meta.fields.at(2).list) names.push_back(element.fields.at(4).text);
  EXPECT_EQ(names, (Texts{"schema", "name", "prompt", "list", "element", "role", "content", "extra_info", "index"}));
  EXPECT_EQ(meta.fields.at(2).list[0].fields.at(5).number, 3) << "fields of the root";
  EXPECT_EQ(meta.fields.at(2).list[2].fields.at(6).number, 3) << "a list";
  EXPECT_EQ(meta.fields.at(2).list[3].fields.at(3).number, 2) << "repeated";
  EXPECT_EQ(meta.fields.at(2).list[4].fields.at(5).number, 2) << "members";
  const Thrift& contents = meta.fields.at(4).list[0].fields.at(1).list[2].fields.at(3);
  EXPECT_EQ(contents.fields.at(5).number, 4) << "an empty list is a value that is not there";
  Texts place;
  for (const Thrift& part : contents.fields.at(3).list) place.push_back(part.text);
  EXPECT_EQ(place, (Texts{"prompt", "list", "element", "content"}));
  const auto offset = static_cast<std::size_t>(contents.fields.at(9).number);
  ThriftReader reader(std::string_view(file).substr(offset));
  reader.structure();
  // Which go on with a list: 0, 1, then 0, 0; which are there: 1, 1, 0, 1; then the texts.
  using namespace std::string_literals;
  const std::string runs = "\6\0\0\0\2\0\2\1\4\0"s + "\6\0\0\0\4\1\2\0\2\1"s;
  const std::string texts = "\2\0\0\0be\2\0\0\0do\4\0\0\0more"s;
  EXPECT_EQ(file.substr(offset + reader.at(), runs.size() + texts.size()), runs + texts);
}

TEST(Parquet, LeavesNothingWhereItWasNotFinished) {
  const TemporaryFolder folder;
  {
    auto writer = ParquetWriter::create(folder.path() / "table.parquet", {{"name", ParquetType::text}});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->add_row({std::string("lost")}).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(ParquetWriter::create(folder.path() / "no" / "t.parquet", {{"name", ParquetType::text}}).ok());
}

}  // namespace
}  // namespace kw
