// Names and texts of errors, worded as the real driver words them.

#include <algorithm>
#include <iterator>

#include "kernel/emulated_driver/state.h"

namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};

#define KW_ERROR(code, text) {code, #code, text}
constexpr ErrorText error_texts[] = {
    KW_ERROR(CUDA_SUCCESS, "no error"),
    KW_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    KW_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    KW_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    KW_ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    KW_ERROR(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    KW_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    KW_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    KW_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    KW_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    KW_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    KW_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    KW_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    KW_ERROR(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    KW_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    KW_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain."),
    KW_ERROR(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    KW_ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    KW_ERROR(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    KW_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    KW_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    KW_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    KW_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    KW_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    KW_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    KW_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    KW_ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    KW_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    KW_ERROR(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    KW_ERROR(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    KW_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    KW_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    KW_ERROR(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    KW_ERROR(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    KW_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    KW_ERROR(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    KW_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    KW_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    KW_ERROR(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    KW_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    KW_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    KW_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
             "operation would make the legacy stream depend on a capturing "
             "blocking stream"),
    KW_ERROR(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    KW_ERROR(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
    KW_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef KW_ERROR

CUresult look_up(CUresult error, const char** answer, const char* ErrorText::*part) {
  if (answer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* found = std::find_if(std::begin(error_texts), std::end(error_texts),
                                   [&](const ErrorText& each) { return each.code == error; });
  *answer = found == std::end(error_texts) ? nullptr : found->*part;
  return *answer == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

KW_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) { return look_up(error, name, &ErrorText::name); }

KW_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
  return look_up(error, text, &ErrorText::text);
}
