#pragma once
// What libkernelwright_torch.so offers to the process that loads it.

#include <memory>
#include <string>

#include "kernel/reference/reference.h"

namespace kw {

class TorchLibrary {
 public:
  virtual ~TorchLibrary() = default;
  virtual std::string version() const = 0;
  virtual Result<std::string> gpu_name() const = 0;
  // Compiles the text in this process, and refuses operators that a reference has no need of.
  // `elementwise`: and what does not work element by element (make_elementwise_reference).
  virtual Result<std::unique_ptr<Reference>> make_reference(const Task& task, bool elementwise = false) const = 0;
  // For a process that will be forked: one thread, and every kind of product computed once and compared, so that all
  // lazily loaded parts are in memory and instructions that do not work show here.
  virtual Result<void> warm_up() const = 0;
};

// Loads it on first use, for the life of the process.
const Result<const TorchLibrary*>& torch_library();

}  // namespace kw

// The one symbol that is looked up by name. The object lives as long as the program.
extern "C" __attribute__((visibility("default"))) const kw::TorchLibrary* kernelwright_torch_library();
