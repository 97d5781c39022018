#include "agents/package/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kw {
namespace {

using Json = nlohmann::json;

const std::string some_hash(64, 'a');

PackageManifest small_manifest() {
  return {{}, some_hash, {{"agents.json", 51, some_hash}, {"base/model.safetensors", 1000, std::string(64, '0')}}};
}

std::string reason(const Json& json) {
  const auto parsed = parse_package_manifest(json.dump());
  EXPECT_FALSE(parsed.ok()) << json.dump();
  return parsed.ok() ? "" : to_string(parsed.error());
}

TEST(PackageManifest, ReadsBackWhatItWrote) {
  PackageManifest manifest = small_manifest();
  EXPECT_EQ(*parse_package_manifest(to_json_text(manifest)), manifest);
  manifest.base = {"smollm2-135m", 98'362'432, some_hash};
  EXPECT_EQ(*parse_package_manifest(to_json_text(manifest)), manifest);
}

TEST(PackageManifest, NamesThatCouldDoHarmAreRefused) {
  for (const char* good : {"agents.json", "base/model-00001-of-00002.safetensors", "a/b/c/d/e/f/g/h", "C++"})
    EXPECT_TRUE(check_packaged_name(good).ok()) << good;
  const std::string long_name(101, 'x');
  const std::string_view bad[] = {"",
                                  "/etc/passwd",
                                  "../x",
                                  "a/../b",
                                  "a/..",
                                  "a//b",
                                  "a/",
                                  ".ssh",
                                  "a/.hidden",
                                  ".",
                                  "a/./b",
                                  "a b",
                                  "a\nb",
                                  "a\\b",
                                  "C:x",
                                  "a\x1b[2J",
                                  "é",
                                  long_name,
                                  "a/b/c/d/e/f/g/h/i",
                                  std::string_view("a\0b", 3)};
  for (const std::string_view name : bad) {
    EXPECT_FALSE(check_packaged_name(name).ok()) << name;
    Json json = Json::parse(to_json_text(small_manifest()));
    json["files"][0]["name"] = std::string(name);
    if (name == "é") continue;
    const std::string said = reason(json);
    EXPECT_NE(said.find("no name that a packaged file may have"), std::string::npos) << said;
    EXPECT_EQ(said.find('\x1b'), std::string::npos) << "a name steers the terminal";
  }
}

TEST(PackageManifest, WhatItCannotMeanIsRefused) {
  const Json good = Json::parse(to_json_text(small_manifest()));
  const auto with = [&](const Json& patch) {
    Json json = good;
    json.merge_patch(patch);
    return reason(json);
  };
  EXPECT_NE(with({{"format", "zip"}}).find("not of the format"), std::string::npos);
  EXPECT_NE(with({{"version", 2}}).find("use a newer kernelwright"), std::string::npos);
  EXPECT_NE(with({{"extra", 1}}).find("unknown key 'extra'"), std::string::npos);
  EXPECT_NE(with({{"fingerprint", "abc"}}).find("64 hexadecimal digits"), std::string::npos);
  EXPECT_NE(with({{"base", {{"carried", nullptr}}}}).find("the base has no name"), std::string::npos);
  EXPECT_NE(with({{"base", {{"carried", false}, {"name", "../x"}, {"bytes", 1}, {"sha256", some_hash}}}})
                .find("the base has no name"),
            std::string::npos);
  EXPECT_NE(with({{"files", 3}}).find("not a list"), std::string::npos);
  const std::string text = to_json_text(small_manifest());
  const auto indented = parse_package_manifest(text + " ");
  EXPECT_NE(indented.error().message.find("changed after it was written"), std::string::npos);
  std::string other = text;
  other.replace(other.find("fingerprint") + 15, 1, "b");
  EXPECT_NE(parse_package_manifest(other).error().message.find("changed after it was written"), std::string::npos);
  Json twice = good;
  twice["files"].push_back(twice["files"][0]);
  EXPECT_NE(reason(twice).find("there twice"), std::string::npos);
  Json itself = good;
  itself["files"][0]["name"] = "manifest.json";
  EXPECT_NE(reason(itself).find("there twice"), std::string::npos);
  Json below = good;
  below["files"][0]["name"] = "base";
  EXPECT_NE(reason(below).find("a file and a folder"), std::string::npos);
  Json large = good;
  large["files"][0]["bytes"] = std::uint64_t{1} << 40;
  EXPECT_NE(reason(large).find("bytes"), std::string::npos);
  Json negative = good;
  negative["files"][0]["bytes"] = -1;
  EXPECT_NE(reason(negative).find("bytes"), std::string::npos);
}

TEST(PackageManifest, NumbersOfFilesAndBytesAreBounded) {
  PackageManifest many{{}, some_hash, {}};
  for (std::size_t i = 0; i <= max_package_files; ++i) many.files.push_back({"f" + std::to_string(i), 0, some_hash});
  EXPECT_FALSE(parse_package_manifest(to_json_text(many)).ok());
  many.files.pop_back();
  EXPECT_TRUE(parse_package_manifest(to_json_text(many)).ok());
  for (PackagedFile& file : many.files) file.bytes = max_packaged_file_bytes;
  const auto parsed = parse_package_manifest(to_json_text(many));
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("more bytes than a package may have"), std::string::npos);
}

}  // namespace
}  // namespace kw
