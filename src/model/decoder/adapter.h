#pragma once
// LoRA: a trainable low-rank addition to linear layers of a frozen base. y = W x + scale * B (A x). Several live on one
// base, and each sequence of a batch says which one it uses.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/decoder/parameters.h"
#include "model/weights/lora_adapter.h"

namespace kw {

struct AdapterLayout {
  std::int64_t rank = 0;
  // Offsets in floats into the flat buffer; -1: this layer is not adapted.
  struct Place {
    std::int64_t a = -1;  // (rank, in)
    std::int64_t b = -1;  // (out, rank)
  };
  std::vector<std::array<Place, projection_count>> layers;
  std::int64_t size = 0;
};

struct Adapter {
  std::string name;
  float scale = 1;  // alpha / rank
  AdapterLayout layout;
  std::vector<float> values;
};

// PEFT's initialisation: A uniform in +-sqrt(1 / in) (kaiming with a = sqrt(5)), B zero, so that it changes nothing at
// first.
Adapter make_adapter(const ModelDescription& description, std::string name, std::int64_t rank, float alpha,
                     const std::vector<Projection>& targets, std::uint64_t seed);
Result<Adapter> adapter_from(const LoraAdapter& file, const ModelDescription& description, std::string name);
LoraAdapter to_lora_adapter(const Adapter& adapter, const ModelDescription& description);

}  // namespace kw
