#pragma once
// A trainer's state on disk: state.json says what it is and names a safetensors file beside it. The JSON is renamed
// into place last, so a crash leaves the old state or the new; the checksum in it finds a file that was damaged later.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "model/decoder/trainable_part.h"
#include "model/distributed/communicator.h"

namespace kw {

struct TrainerState {
  std::int64_t weights_version = 0;
  std::string model;  // config.json's text: a state fits one shape of model
};

// With ranks a collective: rank 0 writes all, and has one array of the others' moments in memory at a time. The file
// does not tell how many ranks there were.
Result<void> save_trainer_state(const std::filesystem::path& folder, const TrainerState& state,
                                std::span<TrainablePart* const> parts, Communicator* ranks = nullptr);
// Either everything is taken over or nothing. `model` is what the file must say. Each rank reads the file and takes its
// own share of the moments.
Result<TrainerState> restore_trainer_state(const std::filesystem::path& folder, const std::string& model,
                                           std::span<TrainablePart* const> parts, int rank = 0);

}  // namespace kw
