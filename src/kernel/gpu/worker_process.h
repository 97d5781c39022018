#pragma once
// The pool's side of one GPU worker: start it, ask it, throw it away.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernel/counters/counters.h"
#include "kernel/gpu/confinement.h"
#include "kernel/gpu/message.h"

namespace kw {

// Inputs of one case, which any worker can be given.
class InputPack {
 public:
  struct Tensor {
    std::string_view contents;         // all of it, or the recipe's table
    std::uint64_t bytes = 0;           // of all of it
    std::optional<DrawRecipe> recipe;  // to be drawn on the device
  };
  // Tensors as they will lie on the device, in the plan's order. Their contents must outlive the pack, or belong to
  // `owner`.
  static std::shared_ptr<const InputPack> make(std::vector<Tensor> tensors,
                                               std::shared_ptr<const void> owner = nullptr);

  std::uint64_t id() const { return id_; }
  std::uint64_t bytes() const { return bytes_; }  // on the device
  std::vector<InputLayout> layout() const;
  // A new file of memory with the contents; whoever asked closes it. There are too many packs to keep one for each.
  Result<int> open_file() const;

 private:
  InputPack() = default;
  std::uint64_t id_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Tensor> tensors_;
  std::shared_ptr<const void> owner_;
};

enum class GpuEnd {
  done,
  refused,
  no_memory,
  fault,    // the kernel's doing; the worker is lost
  timeout,  // likewise
  lost,     // the worker ended for a reason that nobody knows
};

template <class T>
struct GpuAnswer {
  GpuEnd end = GpuEnd::lost;
  std::string text;  // why, when it is not done
  T value{};
  bool done() const { return end == GpuEnd::done; }
};
struct Nothing {};

struct GpuModule {
  std::uint64_t id = 0;  // equal ids are equal modules
  const std::string* image = nullptr;
  const std::vector<std::string>* kernels = nullptr;  // symbols
};

class GpuWorker {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // The calling thread must outlive the worker. `resident_bytes`: of inputs that stay on the device.
  static Result<std::unique_ptr<GpuWorker>> start(std::uint64_t resident_bytes,
                                                  Confinement most = wanted_confinement());
  // The same in two steps, so that several can open the device at the same time.
  static Result<std::unique_ptr<GpuWorker>> spawn(std::uint64_t resident_bytes,
                                                  Confinement most = wanted_confinement());
  // Where the driver does not work when so much is taken from it, the process is started again with less taken; facts()
  // says so.
  Result<void> greet();
  ~GpuWorker();  // with SIGKILL, and waits for its end: then nothing of it runs on the GPU any more
  GpuWorker(const GpuWorker&) = delete;
  GpuWorker& operator=(const GpuWorker&) = delete;

  const GpuFacts& facts() const { return facts_; }
  pid_t pid() const { return pid_; }
  bool is_usable() const { return usable_; }
  bool is_fresh() const { return !used_; }
  bool has_inputs(std::uint64_t id) const;
  void retire() { give_up(); }  // when it may have been harmed

  // Loaded unless it is there already, beside others that were used not long ago.
  GpuAnswer<Nothing> load_module(const GpuModule& module, Milliseconds limit);
  void forget_module(std::uint64_t id);
  GpuAnswer<Nothing> load_inputs(const InputPack& pack, Milliseconds limit);
  GpuAnswer<std::vector<RunReply>> run(const std::vector<RunRequest>& requests, Milliseconds limit);
  // In two steps, because only the second one has to be alone on the device. Nothing else may come between them.
  GpuAnswer<Nothing> lay_out_timing(const TimeRequest& request, Milliseconds limit);
  GpuAnswer<TimeReply> time(Milliseconds limit);
  GpuAnswer<CounterReport> profile(const RunRequest& request, Milliseconds limit);
  GpuAnswer<TransferRates> transfer_rates(Milliseconds limit);

 private:
  GpuWorker(Confinement confinement, std::uint64_t resident_bytes)
      : confinement_(confinement), resident_limit_(resident_bytes) {}
  Result<void> start_process();
  GpuAnswer<std::string> ask(GpuCommand command, const std::string& body, Milliseconds limit, int file = -1);
  GpuAnswer<std::string> receive(std::chrono::steady_clock::time_point deadline);
  void give_up();

  Confinement confinement_;
  pid_t pid_ = -1;
  int socket_ = -1;
  bool usable_ = false;
  bool used_ = false;
  GpuFacts facts_;
  std::uint64_t resident_limit_;
  std::uint64_t resident_bytes_ = 0;
  std::list<std::pair<std::uint64_t, std::uint64_t>> inputs_;  // id, bytes; the one used last at the front
  std::list<std::uint64_t> modules_;                           // likewise
};

}  // namespace kw
