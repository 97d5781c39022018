#include "kernel/sandbox/private_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace kw {
namespace {

Error failed(const std::string& what) { return Error{"cannot " + what + ": " + std::strerror(errno), "", {}}; }

// Opened before anything is mounted over it, and mounted from there.
struct Source {
  std::string path;
  int file = -1;
  mode_t mode = 0;
};

std::vector<Source> open_sources(const std::vector<std::string>& paths) {
  std::vector<Source> sources;
  for (const std::string& path : paths) {
    const int file = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (file < 0) continue;
    struct stat facts {};
    if (::fstat(file, &facts) == 0)
      sources.push_back({path, file, facts.st_mode});
    else
      ::close(file);
  }
  return sources;
}

// Below the working folder, which becomes the root.
std::string inside(const std::string& path) { return "." + path; }

bool make_folders_above(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (::mkdir(inside(path.substr(0, slash)).c_str(), 0755) != 0 && errno != EEXIST) return false;
  return true;
}

// Who may mount only inside a user namespace may not take flags away that the mount came with.
unsigned long flags_to_keep(const std::string& place) {
  struct statvfs facts {};
  if (::statvfs(place.c_str(), &facts) != 0) return 0;
  constexpr std::array<std::pair<unsigned long, unsigned long>, 6> pairs = {{{ST_NOSUID, MS_NOSUID},
                                                                             {ST_NODEV, MS_NODEV},
                                                                             {ST_NOEXEC, MS_NOEXEC},
                                                                             {ST_NOATIME, MS_NOATIME},
                                                                             {ST_NODIRATIME, MS_NODIRATIME},
                                                                             {ST_RELATIME, MS_RELATIME}}};
  unsigned long flags = 0;
  for (const auto& [found, kept] : pairs)
    if ((facts.f_flag & found) != 0) flags |= kept;
  return flags;
}

bool make_read_only(const std::string& place) {
  struct {
    std::uint64_t set = 0x1 | 0x2, clear = 0, propagation = 0, user_namespace = 0;  // MOUNT_ATTR_RDONLY, _NOSUID
  } attributes;
  constexpr long mount_setattr = 442;
  // All that is mounted below it as well; since Linux 5.12.
  if (::syscall(mount_setattr, AT_FDCWD, place.c_str(), AT_RECURSIVE, &attributes, sizeof attributes) == 0) return true;
  return ::mount(nullptr, place.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | flags_to_keep(place),
                 nullptr) == 0;
}

void show(const Source& source) {
  const std::string place = inside(source.path);
  if (!make_folders_above(source.path)) return;
  const bool folder = S_ISDIR(source.mode);
  if (folder) {
    if (::mkdir(place.c_str(), 0755) != 0 && errno != EEXIST) return;
  } else {
    const int made = ::open(place.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
    if (made < 0) return;
    ::close(made);
  }
  const std::string from = "/proc/self/fd/" + std::to_string(source.file);
  if (::mount(from.c_str(), place.c_str(), nullptr, MS_BIND | (folder ? MS_REC : 0), nullptr) != 0) return;
  // A device is used, not written, and a read-only mount would not change that. Nothing else is shown writable.
  if (!make_read_only(place) && !S_ISCHR(source.mode)) ::umount2(place.c_str(), MNT_DETACH);
}

bool make_scratch(std::uint64_t bytes) {
  const std::string place = inside(scratch_folder), size = "mode=0700,size=" + std::to_string(bytes);
  return ::mkdir(place.c_str(), 0700) == 0 &&
         ::mount("tmpfs", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, size.c_str()) == 0;
}

bool make_working_folder_the_root() {
  if (::syscall(SYS_pivot_root, ".", ".") == 0) {
    if (::umount2(".", MNT_DETACH) != 0) return false;
  } else {
    // The machine's root is its first file system, as in some small virtual machines: that cannot be let go of, but it
    // can be covered.
    if (::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || ::chroot(".") != 0) return false;
  }
  return ::chdir("/") == 0;
}

}  // namespace

Result<void> mount_own_proc() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("keep mounts to itself");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return failed("mount its own /proc");
  return {};
}

Result<void> enter_private_root(const std::vector<std::string>& paths, bool processes, std::uint64_t scratch_bytes) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("keep mounts to itself");
  std::vector<Source> sources = open_sources(paths);
  const auto finish = [&](Result<void> result) {
    for (const Source& source : sources) ::close(source.file);
    return result;
  };
  // Any folder will do as the place to mount on; the process never sees it again.
  const char* place = nullptr;
  for (const char* each : {"/tmp", "/mnt", "/var/tmp", "/dev/shm"}) {
    if (::mount("tmpfs", each, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=1m,mode=0755") != 0) continue;
    place = each;
    break;
  }
  if (place == nullptr) return finish(failed("mount an empty root"));
  const auto give_up = [&](const std::string& what) {
    Error error = failed(what);
    if (::chdir("/") == 0) ::umount2(place, MNT_DETACH);
    return finish(std::move(error));
  };
  if (::chdir(place) != 0) return give_up("enter the new root");
  for (const Source& source : sources) show(source);  // who misses one will say so
  if (processes) {
    // Where a container hides parts of /proc, the kernel refuses a new one; most programs do without.
    if (::mkdir("./proc", 0555) == 0 || errno == EEXIST)
      ::mount("proc", "./proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr);
  }
  if (scratch_bytes > 0 && !make_scratch(scratch_bytes)) return give_up("make a folder to write in");
  if (!make_working_folder_the_root()) return give_up("leave the old root");
  if (::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return finish(failed("make the new root read-only"));
  return finish({});
}

}  // namespace kw
