#pragma once
// Trainer and Decoder on one NVIDIA GPU: bf16 with float32 master weights, our own kernels around cuBLAS and flash
// attention. The header knows nothing of torch; libtorch lives in a library of its own
// (libkernelwright_model_gpu.so) that is loaded when one of these is first made.
//
// Variables of the environment choose between ways to compute the same, to compare them; each is read once:
//   KERNELWRIGHT_ATTENTION=flash|cudnn|flash-fast|cudnn-fast  over whole sequences; fast: gradients summed in any order
//   KERNELWRIGHT_LOGITS=bf16             the trainer's logits in bf16 instead of float32
//   KERNELWRIGHT_LOW_RANK=cublas         adapters' additions by cuBLAS instead of our kernel
//   KERNELWRIGHT_EARLY_LAUNCH=1          kernels start before the one ahead of them has ended
//   KERNELWRIGHT_ROTATING_ATTENTION=0    rotation as a kernel of its own when decoding

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/machine_roof.h"
#include "base/result.h"
#include "model/decoder/adapter.h"
#include "model/decoder/nf4_base.h"
#include "model/decoder/parameters.h"
#include "model/decoder/training.h"
#include "model/rollout/decoder.h"

namespace kw {

enum class GpuPrecision {
  bf16,    // weights and activations; master weights, gradients of weights, logits and sums are float32
  float32  // everything, for tests
};

struct GpuOptions {
  GpuPrecision precision = GpuPrecision::bf16;
  // The same program on CPU tensors, each kernel replaced by its slow twin: tests on machines without a GPU.
  bool on_cpu = false;
  // Logits are kept from forward() to backward() when they take no more than this, else computed twice.
  std::int64_t kept_logits_bytes = std::int64_t{12} << 30;
  // Ranks: gradients are sent in pieces of about this size, or of a layer, if that is larger.
  std::int64_t bucket_bytes = std::int64_t{32} << 20;
  // Of the device, for all that this process has there; 0: no limit. What a pass keeps for its gradient follows from it
  // (memory_plan.h), whatever TrainingOptions::recompute says; what does not fit is refused before it is begun.
  std::int64_t memory_bytes = 0;
  bool profile = false;         // events around each piece; see gpu_trainer_profile
  bool trace_exchange = false;  // events around each bucket; see gpu_exchange_report
};

struct GpuDecoderOptions {
  GpuPrecision precision = GpuPrecision::bf16;
  bool on_cpu = false;
  std::int64_t page_count = 0;                        // 0: see decoder_pages.h
  std::int64_t cache_bytes = std::int64_t{16} << 30;  // at most
  std::int64_t context = 0;                           // 0: the model's
  std::int64_t most_rows = 256;
  std::int64_t most_tokens = 8192;     // of one step
  std::int64_t usable_vocabulary = 0;  // 0: all
  // On a base in NF4, a few rows at a time: its codes are rounded to bf16 instead of the weights that they stand for.
  // That is faster, and log-probabilities are not quite the trainer's.
  bool rounded_codes = false;
  bool graphs = true;    // steps of one token a row run as CUDA graphs
  bool profile = false;  // events around each piece instead of graphs; see gpu_decoder_profile
};

// `seed` is for the value head's first weights. Moments of 8 bits are for adapters and the value head, without ranks.
//
// With ranks (TrainingOptions::ranks) each has a GPU and a trainer. Gradients are summed by NCCL, float32 masters and
// moments are shared. Slots say whose passes are whose, but sums depend on the number of ranks, in their last bits.
// read_parameters() and read_adapter() give values as they are computed with.
Result<std::unique_ptr<Trainer>> make_gpu_trainer(const Parameters& parameters, const std::vector<Adapter>& adapters,
                                                  const TrainingOptions& training, const OptimizerOptions& optimizer,
                                                  const GpuOptions& options = {}, std::uint64_t seed = 0);

// On a frozen base in NF4 (QLoRA): it stays packed, and a matrix at a time is expanded for its products.
// training.train_base must be false.
Result<std::unique_ptr<Trainer>> make_gpu_trainer(const Nf4Base& base, const std::vector<Adapter>& adapters,
                                                  const TrainingOptions& training, const OptimizerOptions& optimizer,
                                                  const GpuOptions& options = {}, std::uint64_t seed = 0);

Result<std::unique_ptr<Decoder>> make_gpu_decoder(const Parameters& parameters, const std::vector<Adapter>& adapters,
                                                  const GpuDecoderOptions& options = {});
Result<std::unique_ptr<Decoder>> make_gpu_decoder(const Nf4Base& base, const std::vector<Adapter>& adapters,
                                                  const GpuDecoderOptions& options = {});
// On the weights of a trainer that make_gpu_trainer made, without a copy: every step of the trainer is seen by the next
// step of the decoder. The trainer must outlive it. Precision and place are the trainer's.
Result<std::unique_ptr<Decoder>> make_gpu_decoder(Trainer& trainer, const GpuDecoderOptions& options = {});
// Other weights for a decoder that make_gpu_decoder made from Parameters; those of a trainer are the trainer's. Between
// steps only. `base` null: it stays as it is. Memory and CUDA graphs stay, too.
Result<void> update_gpu_decoder(Decoder& decoder, const Parameters* base, const std::vector<Adapter>& adapters,
                                std::int64_t version);

// "NVIDIA H200", or why there is none that can be used. The first answer stays.
Result<std::string> model_gpu_name();

// What it can do at most, measured in some 50 ms: products of bf16 matrices (8192 x 8192), and copies in its memory.
Result<MachineRoof> measure_model_gpu();

struct GpuMemory {
  std::int64_t device = 0, device_used = 0;        // by everybody, as the driver says
  std::int64_t allocated = 0, most_allocated = 0;  // by torch's allocator in this process: tensors
  std::int64_t reserved = 0, most_reserved = 0;    // what it has taken for them
  std::int64_t limit = 0;                          // of what it may take; 0: none
};
Result<GpuMemory> gpu_memory();

// Device time by piece since the last call, where `profile` was asked for.
std::string gpu_trainer_profile(Trainer& trainer);
// With ranks and `trace_exchange`: when each bucket of the last step's gradients was sent and summed, and when the
// backward pass ended, in ms from its beginning.
std::string gpu_exchange_report(Trainer& trainer);
std::string gpu_decoder_profile(Decoder& decoder);  // one that make_gpu_decoder made

}  // namespace kw
