#include "model/decoder/nf4_base.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "model/decoder/presets.h"
#include "model/weights/huggingface_config.h"
#include "model/weights/safetensors_writer.h"

namespace kw {
namespace {

ModelDescription odd_description() {
  ModelDescription model = preset_description("tiny-1m", 300).value();
  model.hidden = 40;  // rows of the matrices are not whole blocks of 64
  model.heads = 5;
  model.kv_heads = 5;
  model.head_dim = 8;
  model.intermediate = 72;
  model.layers = 2;
  return model;
}

// As bitsandbytes leaves a folder: the linear layers in NF4, all else in floats.
void write_nf4_folder(const std::filesystem::path& folder, const Parameters& parameters, const Nf4Base& base) {
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_huggingface_config(folder, parameters.description).ok());
  auto config = read_file(folder / "config.json", 1 << 20).value();
  config.insert(config.find('{') + 1,
                R"("quantization_config": {"load_in_4bit": true, "quant_method": "bitsandbytes",
                   "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true},)");
  ASSERT_TRUE(write_file_atomic(folder / "config.json", config).ok());
  std::vector<OutgoingTensor> tensors;
  for (const auto& place : base.layout.places) {
    if (const auto matrix = base.matrices.find(place.offset); matrix != base.matrices.end()) {
      for (auto& part : outgoing_nf4(place.tensor.name, matrix->second)) tensors.push_back(std::move(part));
    } else {
      tensors.push_back(
          outgoing_floats(place.tensor.name, place.tensor.shape, base.others.at(place.offset), ElementType::f32));
    }
  }
  ASSERT_TRUE(write_weight_folder(folder, std::move(tensors), 0).ok());
}

TEST(Nf4Base, OfFloatsAndOfAFolderInNf4IsTheSame) {
  ThreadTeam team(2);
  const Parameters parameters = initial_parameters(team, odd_description(), 3);
  const Nf4Base quantised = quantise_base(team, parameters);
  EXPECT_EQ(quantised.matrices.size(), 14u);
  const TemporaryFolder folder;
  ASSERT_TRUE(save_model(folder.path() / "floats", parameters, nullptr).ok());
  write_nf4_folder(folder.path() / "nf4", parameters, quantised);
  for (const char* name : {"floats", "nf4"}) {
    const auto files = ModelFiles::open(folder.path() / name);
    ASSERT_TRUE(files.ok()) << name << ": " << to_string(files.error());
    std::int64_t done = 0, all = 0;
    const auto loaded = load_nf4_base(team, *files, [&](std::int64_t bytes, std::int64_t of) {
      EXPECT_GT(bytes, done);
      done = bytes;
      all = of;
    });
    ASSERT_TRUE(loaded.ok()) << name << ": " << to_string(loaded.error());
    EXPECT_EQ(done, all);
    EXPECT_EQ(loaded->others, quantised.others) << name;
    ASSERT_EQ(loaded->matrices.size(), quantised.matrices.size());
    for (const auto& [offset, matrix] : quantised.matrices) {
      EXPECT_EQ(loaded->matrices.at(offset).packed, matrix.packed) << name << " at " << offset;
      EXPECT_EQ(loaded->matrices.at(offset).absmax, matrix.absmax) << name << " at " << offset;
    }
  }
  // What the folder in NF4 means to everybody else is what this one is computed with.
  const auto files = ModelFiles::open(folder.path() / "nf4").value();
  EXPECT_EQ(load_parameters(files).value().values, expand_base(quantised).values);
}

}  // namespace
}  // namespace kw
