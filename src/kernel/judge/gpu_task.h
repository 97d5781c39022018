#pragma once
// What the GPU backend keeps for a task: inputs that workers can be given, full-size cases with sampled answers, the
// naive kernel ready to run, and PyTorch's own times.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernel/gpu/turns.h"
#include "kernel/gpu/worker_process.h"
#include "kernel/judge/case_book.h"
#include "kernel/judge/gpu_times.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/judge/unusual_inputs.h"

namespace kw {

// A task at one of its train sizes. The whole truth of a full-size output would fill the memory of the machine over
// many tasks, and nobody gains by being wrong in a thousandth of it: places that nobody can guess are compared.
struct FullSizeCase {
  Sizes sizes;
  std::optional<InputMix> mix;  // the inputs are unusual ones
  std::uint64_t seed = 0;
  std::shared_ptr<const InputPack> inputs;
  std::vector<OutputSample> samples;  // of each output
  Positions places;                   // element numbers of the samples
  std::vector<OutputTensor> truth;    // at those places
  std::vector<ErrorBound> bounds;
  // Of the samples, a part that is looked at after timing: chunks `timed_stride` apart.
  std::vector<OutputSample> timed_samples;
  Positions timed_places;
  std::vector<OutputTensor> timed_truth;
  std::uint64_t input_bytes = 0, output_bytes = 0;
  std::optional<TimeAndInterval> pytorch, pytorch_tf32;  // eager; unknown when it could not be timed
};

// A kernel ready for the device.
struct GpuKernel {
  std::uint64_t id = 0;
  std::string image;
  std::vector<std::string> symbols;
  std::vector<CompiledKernel> kernels;
  GpuModule module() const { return {id, &image, &symbols}; }
};
// `use_ptx`: the driver compiles it (an emulated driver takes nothing else).
GpuKernel gpu_kernel(const CompileResult& compiled, bool use_ptx);

struct NaiveOnGpu {
  GpuKernel kernel;
  std::vector<std::optional<GpuPlan>> plans;  // at each train size
};

class GpuTask {
 public:
  GpuTask(Task task, std::string secret, bool want_pytorch)
      : task_(std::move(task)), secret_(std::move(secret)), want_pytorch_(want_pytorch) {}

  // Made at first use, from any thread.
  // The case must live as long as this object, as those of the task's case book do.
  std::shared_ptr<const InputPack> pack_of(int set, const Case& one);
  // PyTorch runs on the GPU too, so this waits for its turns: never call it during one.
  Result<std::shared_ptr<const FullSizeCase>> full_size(std::size_t train_size, GpuTurns& turns);
  // Unusual inputs at a train size; null where they are no fair question. `fair`: kinds that the reference copes with.
  Result<std::shared_ptr<const FullSizeCase>> unusual(std::size_t train_size, InputMix mix,
                                                      const std::set<InputKind>& fair, GpuTurns& turns);
  // Null when the task has no naive kernel or it does not compile.
  std::shared_ptr<const NaiveOnGpu> naive(CompileService& service, GpuArchitecture architecture, bool use_ptx);

  // What a timing may take for the naive kernel's part; generous until it has been measured once.
  std::chrono::milliseconds naive_limit(std::size_t train_size);
  void note_naive_us(std::size_t train_size, double us);
  std::uint64_t kept_bytes() const { return kept_bytes_; }  // of full-size cases and the naive kernel

 private:
  struct Wanted {
    std::size_t train_size = 0;
    std::optional<InputMix> mix;
    bool operator<(const Wanted& other) const {
      return std::tie(train_size, mix) < std::tie(other.train_size, other.mix);
    }
  };
  using Made = Result<std::shared_ptr<const FullSizeCase>>;
  Made make_full_size(const Wanted& wanted, const std::set<InputKind>& fair, GpuTurns& turns);
  Made known_or_made(const Wanted& wanted, const std::set<InputKind>& fair, GpuTurns& turns);
  std::optional<TimeAndInterval> pytorch_time(Reference& reference, const PreparedInputs& inputs, const Sizes& sizes,
                                              bool tf32, GpuTurns& turns) const;
  // False: the inputs are unusual, and the reference does not cope with them.
  Result<bool> answer(const std::vector<InputTensor>& inputs, Device device, GpuTurns& turns, FullSizeCase& one);

  Task task_;
  std::string secret_;
  bool want_pytorch_;
  std::mutex packs_mutex_;
  std::map<std::pair<int, std::size_t>, std::shared_ptr<const InputPack>> packs_;  // by set and question
  std::mutex full_mutex_;
  std::map<Wanted, Made> full_;
  std::mutex naive_mutex_;
  bool naive_made_ = false;
  std::map<std::size_t, double> naive_us_;  // by train size
  std::shared_ptr<const NaiveOnGpu> naive_;
  std::atomic<std::uint64_t> kept_bytes_ = 0;
};

// Chunks at random places, the beginning and the end; everything of a small output.
OutputSample choose_sample(std::int64_t elements, std::size_t element_bytes, std::uint64_t seed,
                           std::int64_t chunks = 2048);
inline constexpr std::int64_t sample_chunk_elements = 64;
std::vector<std::int64_t> places_of(const OutputSample& sample, std::int64_t elements, std::size_t element_bytes);

}  // namespace kw
