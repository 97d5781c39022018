#include "app/cli/kernel_argument.h"

#include <unistd.h>

#include "base/file.h"
#include "kernel/source/kernel_file.h"

namespace kw::cli {

Result<std::string> read_kernel_argument(const std::string& path) {
  if (path != "-") return read_file(path, max_kernel_file_bytes);
  std::string text;
  char chunk[65536];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (count < 0) return Error{"cannot read the kernel from standard input", "", {}};
    if (count == 0) return text;
    text.append(chunk, static_cast<std::size_t>(count));
    if (text.size() > max_kernel_file_bytes)
      return Error{"the kernel on standard input is larger than a kernel may be", "", {}};
  }
}

}  // namespace kw::cli
