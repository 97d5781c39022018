// Packages written, read, damaged and opened by many at once.

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "agents/package/package_cache.h"
#include "agents/package/package_reader.h"
#include "agents/package/package_writer.h"
#include "base/child_process.h"
#include "base/file.h"
#include "base/hash.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

const std::string some_hash(64, 'a');

// With a cache folder of its own.
class Packages : public testing::Test {
 protected:
  Packages() { ::setenv("KERNELWRIGHT_CACHE", (folder_.path() / "cache").c_str(), 1); }
  ~Packages() override { ::unsetenv("KERNELWRIGHT_CACHE"); }

  fs::path at(const std::string& name) const { return folder_.path() / name; }

  fs::path small_package() const {
    EXPECT_TRUE(write_file_atomic(at("weights"), std::string(700, 'w')).ok());
    const auto written = write_package(at("small.kwz"), {}, some_hash,
                                       {{"base/weights.bin", at("weights"), ""},
                                        {"agents.json", {}, "{\"format\": 1}"},
                                        {"about/nothing.txt", {}, ""},
                                        {"base/whole_block.bin", {}, std::string(512, 'b')}});
    EXPECT_TRUE(written.ok()) << to_string(written.error());
    return at("small.kwz");
  }

  fs::path file_of(const std::string& bytes) const {
    EXPECT_TRUE(write_file_atomic(at("changed.kwz"), bytes).ok());
    return at("changed.kwz");
  }

  TemporaryFolder folder_;
};

Result<Contents> contents_of(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  Contents contents;
  auto package = read_package(descriptor, [&](const PackagedFile& packed, std::string_view bytes) -> Result<void> {
    contents[packed.name] += bytes;
    return {};
  });
  ::close(descriptor);
  if (!package.ok()) return package.error();
  return contents;
}

const Contents small_contents{{"agents.json", "{\"format\": 1}"},
                              {"about/nothing.txt", ""},
                              {"base/weights.bin", std::string(700, 'w')},
                              {"base/whole_block.bin", std::string(512, 'b')}};

// For tar files that are well formed, whatever they say.
struct TarEntry {
  std::string name;
  std::string content;
  unsigned type = AE_IFREG;
  std::string link = {};
};

std::string tar_of(const std::vector<TarEntry>& entries, const fs::path& file, bool pax = false) {
  archive* tar = archive_write_new();
  EXPECT_EQ(pax ? archive_write_set_format_pax(tar) : archive_write_set_format_ustar(tar), ARCHIVE_OK);
  archive_write_set_bytes_per_block(tar, 512);
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  EXPECT_EQ(archive_write_open_fd(tar, descriptor), ARCHIVE_OK);
  for (const TarEntry& entry : entries) {
    archive_entry* header = archive_entry_new();
    archive_entry_set_pathname(header, entry.name.c_str());
    archive_entry_set_filetype(header, entry.type);
    archive_entry_set_perm(header, 0644);
    archive_entry_set_mtime(header, 0, 0);
    if (!entry.link.empty() && entry.type == AE_IFLNK) archive_entry_set_symlink(header, entry.link.c_str());
    if (!entry.link.empty() && entry.type == AE_IFREG) archive_entry_set_hardlink(header, entry.link.c_str());
    archive_entry_set_size(header, static_cast<la_int64_t>(entry.content.size()));
    EXPECT_EQ(archive_write_header(tar, header), ARCHIVE_OK);
    archive_entry_free(header);
    archive_write_data(tar, entry.content.data(), entry.content.size());
  }
  archive_write_close(tar);
  archive_write_free(tar);
  ::close(descriptor);
  return *read_file(file);
}

TarEntry manifest_entry(const Contents& listed) {
  PackageManifest manifest{{}, some_hash, {}};
  for (const auto& [name, content] : listed) manifest.files.push_back({name, content.size(), sha256_hex(content)});
  return {package_manifest_name, to_json_text(manifest)};
}

TEST_F(Packages, ReadsBackWhatItPacked) {
  const fs::path file = small_package();
  EXPECT_EQ(*contents_of(file), small_contents);
  EXPECT_TRUE(check_package(file).ok());
  EXPECT_TRUE(looks_like_package(file));
  const auto opened = open_package(file);
  ASSERT_TRUE(opened.ok()) << to_string(opened.error());
  for (const auto& [name, content] : small_contents) EXPECT_EQ(*read_file(opened->folder / name), content);
}

TEST_F(Packages, TheSameFilesAreTheSameBytes) {
  const std::string first = *read_file(small_package());
  EXPECT_EQ(*read_file(small_package()), first);
}

TEST_F(Packages, OrdinaryToolsOpenIt) {
  const auto listed = run_child({{"/bin/tar", "-tf", small_package().string()}, "", "", {}},
                                {.wall = std::chrono::minutes(10), .cpu = {}, .memory_bytes = {}});
  ASSERT_TRUE(listed.ok() && listed->exit_code == 0);
  EXPECT_EQ(listed->output, "manifest.json\nabout/nothing.txt\nagents.json\nbase/weights.bin\nbase/whole_block.bin\n");
}

TEST_F(Packages, EveryFlippedByteIsFoundOrChangesNothing) {
  const std::string good = *read_file(small_package());
  const fs::path file = file_of(good);
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  const auto put = [&](std::size_t i, char byte) {
    ASSERT_EQ(::pwrite(descriptor, &byte, 1, static_cast<off_t>(i)), 1);
  };
  std::set<std::size_t> unnoticed;  // in a block
  for (std::size_t i = 0; i < good.size(); ++i) {
    put(i, static_cast<char>(good[i] ^ (1 << (i % 8))));
    const auto contents = contents_of(file);
    put(i, good[i]);
    if (!contents.ok()) continue;
    EXPECT_EQ(*contents, small_contents) << "byte " << i;
    unnoticed.insert(i % 512);
  }
  ::close(descriptor);
  // Only in the field that holds the checksum of a header.
  for (const std::size_t place : unnoticed) EXPECT_TRUE(place >= 148 && place < 156) << place;
}

TEST_F(Packages, EveryTruncationIsRefused) {
  const std::string good = *read_file(small_package());
  for (std::size_t bytes = 0; bytes < good.size(); bytes += bytes % 512 == 0 ? 1 : 37) {
    const auto opened = open_package(file_of(good.substr(0, bytes)));
    ASSERT_FALSE(opened.ok()) << bytes;
    EXPECT_FALSE(opened.error().message.empty());
    EXPECT_NE(opened.error().where.file.find("changed.kwz"), std::string::npos);
  }
  EXPECT_NE(open_package(file_of(good.substr(0, good.size() - 1))).error().message.find("fewer"), std::string::npos);
  EXPECT_NE(open_package(file_of(good + "x")).error().message.find("more"), std::string::npos);
  std::error_code none;
  EXPECT_EQ(std::distance(fs::directory_iterator(at("cache") / "agents", none), {}), 0) << "something is left behind";
}

TEST_F(Packages, ForeignFilesAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("PK\3\4"), std::string(5000, 'x'), std::string(4096, '\0')}) {
    const auto opened = open_package(file_of(bytes));
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("no package of agents"), std::string::npos) << opened.error().message;
  }
  EXPECT_FALSE(open_package(at("")).ok()) << "a folder";
  EXPECT_FALSE(open_package(at("not there")).ok());
  EXPECT_FALSE(open_package("/dev/null").ok());
}

TEST_F(Packages, EntriesThatLeaveTheFolderAreRefused) {
  for (const std::string name : {"../outside", "/tmp/kernelwright-outside", "a/../../outside"}) {
    const Contents listed{{name, "gotcha"}};
    tar_of({manifest_entry(listed), {name, "gotcha"}}, at("evil.kwz"));
    const auto opened = open_package(at("evil.kwz"));
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_NE(opened.error().message.find("no name that a packaged file may have"), std::string::npos);
    // The manifest has an innocent name, the tar file has not.
    tar_of({manifest_entry({{"innocent", "gotcha"}}), {name, "gotcha"}}, at("evil.kwz"));
    EXPECT_FALSE(open_package(at("evil.kwz")).ok());
  }
  EXPECT_FALSE(fs::exists("/tmp/kernelwright-outside"));
  EXPECT_FALSE(fs::exists(at("outside")));
}

TEST_F(Packages, WhatIsNotListedOrNotAPlainFileIsRefused) {
  const Contents one{{"a", "text"}};
  const TarEntry manifest = manifest_entry(one);
  tar_of({manifest, {"a", "text"}}, at("t.kwz"));
  ASSERT_TRUE(open_package(at("t.kwz")).ok());
  fs::remove_all(at("cache"));
  const TarEntry plain{"a", "text"};
  const std::vector<std::vector<TarEntry>> bad = {
      {manifest},                                        // a file is missing
      {manifest, plain, {"b", "more"}},                  // one too many
      {manifest, plain, plain},                          // twice
      {manifest, {"a", "", AE_IFLNK, "/etc/passwd"}},    // a symbolic link
      {manifest, {"a", "", AE_IFREG, "manifest.json"}},  // a hard link
      {manifest, {"a", "", AE_IFDIR}},                   // a folder
      {manifest, {"a", "", AE_IFIFO}},                   // a pipe
      {manifest, {"a", "tex"}},                          // shorter
      {manifest, {"a", "texts"}},                        // longer
      {manifest, {"a", "Text"}},                         // other content
      {plain, manifest},                                 // the manifest is not the first
      {{package_manifest_name, "{}"}, plain},            // no manifest
      {manifest, {"a", "", AE_IFLNK, "x"}, plain},       // a link before the file
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    tar_of(bad[i], at("t.kwz"));
    EXPECT_FALSE(open_package(at("t.kwz")).ok()) << i;
  }
  // A header that renames the next file, as pax has them, even when the name is right.
  tar_of({manifest, {"a", "text"}, {std::string(90, 'n') + "/" + std::string(90, 'm'), ""}}, at("t.kwz"), true);
  EXPECT_FALSE(open_package(at("t.kwz")).ok());
}

TEST_F(Packages, ExtractedOnceAndRepairedWhenDamaged) {
  const fs::path file = small_package();
  const fs::path folder = open_package(file)->folder;
  const auto changed = [&] { return fs::last_write_time(folder / "base"); };
  const auto before = changed();
  EXPECT_EQ(open_package(file)->folder, folder);
  EXPECT_EQ(changed(), before);
  fs::remove(folder / "base/weights.bin");
  const auto repaired = open_package(file);
  ASSERT_TRUE(repaired.ok()) << to_string(repaired.error());
  EXPECT_EQ(*read_file(folder / "base/weights.bin"), small_contents.at("base/weights.bin"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.parent_path()), {}), 1) << "something is left behind";
}

TEST_F(Packages, ManyMayOpenItAtOnce) {
  const fs::path file = small_package();
  const auto open_all = [&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const auto opened = open_package(file);
        ASSERT_TRUE(opened.ok()) << to_string(opened.error());
        EXPECT_EQ(*read_file(opened->folder / "agents.json"), small_contents.at("agents.json"));
      });
    for (auto& thread : threads) thread.join();
  };
  for (int round = 0; round < 20; ++round) {
    open_all();
    EXPECT_EQ(std::distance(fs::directory_iterator(at("cache") / "agents"), {}), 1);
    fs::remove_all(at("cache"));
  }
}

TEST_F(Packages, InputsThatCannotBePacked) {
  EXPECT_FALSE(write_package(at("x.kwz"), {}, some_hash, {{"../x", {}, "text"}}).ok());
  EXPECT_FALSE(write_package(at("x.kwz"), {}, some_hash, {{"x", at("not there"), ""}}).ok());
  EXPECT_FALSE(write_package(at("x.kwz"), {}, some_hash, {{"x", {}, "1"}, {"x", {}, "2"}}).ok());
  EXPECT_FALSE(write_package(at("no folder") / "x.kwz", {}, some_hash, {{"x", {}, "text"}}).ok());
  EXPECT_TRUE(fs::is_empty(folder_.path())) << "something is left behind";
}

}  // namespace
}  // namespace kw
