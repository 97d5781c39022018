#pragma once
// What libkernelwright_torch.so offers to the program that loads it.

#include <memory>
#include <string>

#include "reference/reference.h"

namespace kw {

class TorchLibrary {
 public:
  virtual ~TorchLibrary() = default;
  virtual std::string version() const = 0;
  virtual Result<std::string> gpu_name() const = 0;
  virtual Result<std::unique_ptr<Reference>> make_reference(const Task& task) const = 0;
};

}  // namespace kw

// The one symbol that is looked up by name. The object lives as long as the program.
extern "C" __attribute__((visibility("default"))) const kw::TorchLibrary* kernelwright_torch_library();
