#include "base/file_error.h"

#include <cerrno>
#include <cstring>

namespace kw {
namespace {

std::string advice_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "the disk is full: make room and repeat the command; what was saved before is whole";
    case EROFS:
    case EACCES:
    case EPERM:
      return "it may not be written to: look at the permissions, or name another folder";
    case EIO:
      return "the disk or the file system reports a failure";
    default:
      return "";
  }
}

}  // namespace

Error file_error(std::string_view what, const std::filesystem::path& path, int error_number) {
  return Error{
      std::string(what) + " " + path.string() + ": " + std::strerror(error_number), advice_for(error_number), {}};
}

}  // namespace kw
