#include "kernel/reference/reference.h"

#include "kernel/reference/cuda_driver.h"
#include "kernel/reference/reference_service.h"
#include "kernel/reference/remote_reference.h"

namespace kw {
namespace {

Result<std::string> ask_gpu_name() {
  if (!cuda_driver_is_installed())
    return Error{"there is no usable GPU: no NVIDIA driver is installed (libcuda.so.1 cannot be loaded)", "", {}};
  KW_TRY(const auto process, ReferenceService::instance().on_gpu());
  const std::lock_guard lock(process->mutex());
  ReferenceRequest request;
  request.command = ReferenceCommand::gpu_name;
  const ReferenceAnswer answer = process->ask(request, ReferenceService::instance().limits().gpu_wall);
  if (answer.kind != ReferenceAnswer::Kind::reply) return Error{"torch's process on the GPU ended", "", {}};
  if (answer.reply.error) return *answer.reply.error;
  return answer.reply.gpu_name;
}

}  // namespace

Result<std::unique_ptr<Reference>> make_reference(const Task& task) {
  auto made = std::make_unique<RemoteReference>(task);
  KW_TRY_VOID(made->define());
  return std::unique_ptr<Reference>(std::move(made));
}

Result<std::unique_ptr<Reference>> make_elementwise_reference(const Task& lines) {
  auto made = std::make_unique<RemoteReference>(lines, true);
  KW_TRY_VOID(made->define());
  return std::unique_ptr<Reference>(std::move(made));
}

bool is_want_of_memory(const Error& error) {
  // By the text: it comes from PyTorch's allocator, through another process.
  return error.message.find("out of memory") != std::string::npos;
}

Result<std::string> torch_version() {
  KW_TRY(const ReferenceFacts facts, reference_facts());
  return facts.torch_version;
}

Result<std::string> gpu_available() {
  static const Result<std::string> name = ask_gpu_name();
  return name;
}

}  // namespace kw
