#pragma once
// The right answer: the task's PyTorch text, compiled as TorchScript and run operation by operation, as PyTorch's eager
// mode does, on the CPU or on a CUDA GPU. The header knows nothing of torch. The text comes from strangers and libtorch
// may die of it, so both are in processes of their own that can reach nothing (worker.h), with limits on time and
// memory; libtorch is in a library of its own (libkernelwright_torch.so) that this program never loads.

#include <memory>
#include <string>
#include <vector>

#include "kernel/task/input_values.h"
#include "kernel/task/task.h"

namespace kw {

enum class Device { cpu, gpu };

enum class Precision {
  truth,      // floating-point inputs and intermediates in float64
  task_dtype  // everything as the task declares it: what PyTorch itself would answer, without TF32 or half-precision
              // sums
};

struct OutputTensor {
  std::string name;
  Dtype dtype = Dtype::float32;  // float64 for floating-point outputs of the truth, else as declared
  std::vector<std::int64_t> shape;
  std::string bytes;  // row-major, little endian
};

// The elements wanted of each output, in the task's order of outputs: flat row-major indices, in any order.
using Positions = std::vector<std::vector<std::int64_t>>;

struct SampledOutput {
  std::vector<std::int64_t> positions;  // as asked for
  std::vector<std::int64_t> shape;      // of the whole output
  OutputTensor elements;                // [positions.size()]
};

// Inputs that stay on a device from one call to the next; they are never changed. The memory is given back with the
// object. The tensors that it was made of must outlive it: they are sent again where a process is lost.
class PreparedInputs {
 public:
  virtual ~PreparedInputs() = default;
  virtual Device device() const = 0;
  virtual std::int64_t bytes() const = 0;
};

struct TimingOptions {
  int trials_min = 20;
  int trials_max = 200;
  // Enough when the 95 % interval of the median is no wider than this share of the median.
  double relative_interval = 0.02;
  double budget_ms = 1000;  // wall time of the trials; the warm-up comes before. At least three trials are made.
  bool allow_tf32 = false;  // in matrix products and convolutions of float32
};

// Device time of one call of the reference, L2 flushed before each, PyTorch's defaults except for TF32.
struct ReferenceTimes {
  std::vector<double> trials_us;
  double enqueue_us = 0;  // median host time of enqueueing one call
  double flush_us = 0;    // device time of one flush of the L2
  int flushes = 0;        // queued before a call, so that the enqueueing hides behind them
  // Trials in which the device came to the call before the host had enqueued all of it: those may hold waiting for the
  // host. More than 0 where the text itself waits for the device, or enqueues for longer than flushes can hide.
  int trials_exposed = 0;
};

// From several threads; calls of one reference wait for each other.
class Reference {
 public:
  virtual ~Reference() = default;

  // The limit of CPU time holds for all calls from here to the next start_work() together: those that belong to one
  // piece of work.
  virtual void start_work() {}

  // Checks number, shapes and kinds of what the text returns against the task's outputs.
  virtual Result<std::vector<OutputTensor>> run(const std::vector<InputTensor>& inputs, const Sizes& sizes,
                                                Precision precision, Device device = Device::cpu) = 0;

  // For several calls with the same inputs, above all large ones on the GPU.
  virtual Result<std::unique_ptr<PreparedInputs>> prepare(const std::vector<InputTensor>& inputs, Device device) = 0;
  virtual Result<std::vector<OutputTensor>> run(const PreparedInputs& inputs, const Sizes& sizes,
                                                Precision precision) = 0;
  // Only chosen elements: a whole output of full size in float64 can take gigabytes. Computes everything, brings back
  // and keeps what was asked for.
  virtual Result<std::vector<SampledOutput>> run_at(const PreparedInputs& inputs, const Sizes& sizes,
                                                    Precision precision, const Positions& positions) = 0;
  // PyTorch eager's time in the task's types. Inputs must be on the GPU.
  virtual Result<ReferenceTimes> time_us(const PreparedInputs& inputs, const Sizes& sizes,
                                         const TimingOptions& options) = 0;
};

// Starts the reference worker on first use. An error if libtorch is missing on this machine, the text does not compile,
// or it uses what a reference has no need of. Programs that call it first call run_if_reference_worker() in main().
Result<std::unique_ptr<Reference>> make_reference(const Task& task);

// The same, where each element of an output depends on the inputs' elements at its own place alone, with broadcasting
// from the right; else an error. The elements that are wanted can then be asked for alone: with the inputs' elements at
// their places in one line each, in a task of such lines.
Result<std::unique_ptr<Reference>> make_elementwise_reference(const Task& lines);

// Whether a reference had no memory left on its device: it may have some when others have ended.
bool is_want_of_memory(const Error& error);

// "2.11.0", or why libtorch cannot be loaded.
Result<std::string> torch_version();

// "NVIDIA H200", or why references cannot run on a GPU here. The first answer stays.
Result<std::string> gpu_available();

}  // namespace kw
