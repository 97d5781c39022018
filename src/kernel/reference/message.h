#pragma once
// What the program and a reference process say to each other over a socket: one request, one reply, in frames of a
// fixed head and a bounded body. Tensors lie in memory that both share; messages say where. A reference process has
// worked on text that nobody vouches for, so its replies are decoded with bounds like any other input.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/reference/reference.h"

namespace kw {

// A tensor in the shared memory.
struct PlacedTensor {
  std::string name;
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<DrawRecipe> recipe = {};  // as InputTensor has them
  bool coarse = false;
};

enum class ReferenceCommand : std::uint64_t {
  define,              // a task's text; `task` is the number it has from then on
  define_elementwise,  // the same, refused where it does not work element by element
  forget,              // that task, and what was kept for it
  run,                 // with `inputs` that were kept, or else with the tensors that come along
  prepare,             // keep the tensors on a device as `inputs`
  release,             // those
  time,                // with inputs that were kept
  gpu_name
};

// Every field that a command does not need stays as it is here.
struct ReferenceRequest {
  ReferenceCommand command = ReferenceCommand::run;
  std::uint64_t task = 0;
  std::uint64_t inputs = 0;  // 0: none
  std::optional<Task> text;  // define: name, file, text, inputs, outputs and names of sizes; nothing else travels
  std::vector<PlacedTensor> tensors;
  std::vector<PlacedTensor> positions;  // int64, of each output: only these elements are wanted; empty: all
  Sizes sizes;
  Precision precision = Precision::truth;
  Device device = Device::cpu;
  TimingOptions timing;
  std::uint64_t shared_bytes = 0;  // of the shared memory now
  std::uint64_t room_offset = 0;   // where outputs may be written ...
  std::uint64_t room_bytes = 0;    // ... and how much of them
  std::uint64_t cpu_seconds = 0;   // that it may take; 0: any
};

struct ReferenceReply {
  std::optional<Error> error;
  std::vector<PlacedTensor> outputs;  // of chosen elements, with `whole_shapes` of the outputs that they are from
  std::vector<std::vector<std::int64_t>> whole_shapes;
  ReferenceTimes times;
  std::string gpu_name;
  std::uint64_t cpu_us = 0;  // that the request took
};

std::string encode(const ReferenceRequest& request);
std::string encode(const ReferenceReply& reply);
Result<ReferenceRequest> decode_reference_request(std::string_view bytes);
Result<ReferenceReply> decode_reference_reply(std::string_view bytes);

struct ReferenceFrame {
  std::uint64_t magic = 0;
  std::uint64_t body_bytes = 0;
};
inline constexpr std::uint64_t reference_magic = 0x4b57524546315f31;
inline constexpr std::uint64_t reference_body_limit = 8u << 20;

}  // namespace kw
