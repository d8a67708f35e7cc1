#include "runtime/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool write_parts(int fd, const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts)
    if (!write_all(fd, part)) return false;
  return true;
}

[[noreturn]] void cannot_write(const std::string& path, int error, const Span& at) {
  fail("cannot-write", at, "cannot write `{}`: {}", path, std::strerror(error));
}

/// The mode that creat() would give a new file.
mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

void write_in_place(const std::string& path, const std::vector<std::string_view>& parts,
                    const Span& at) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) cannot_write(path, errno, at);
  const bool ok = write_parts(fd, parts);
  const int error = errno;
  ::close(fd);
  if (!ok) cannot_write(path, error, at);
}

}  // namespace

void write_file(const std::string& path, const std::vector<std::string_view>& parts,
                const Span& at) {
  struct stat there {};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) cannot_write(path, EISDIR, at);
  if (exists && !S_ISREG(there.st_mode)) return write_in_place(path, parts, at);

  // A link keeps pointing where it points: its target is replaced.
  std::error_code none;
  std::filesystem::path target = path;
  if (exists) target = std::filesystem::canonical(path, none);
  if (none) target = path;
  const std::string folder = target.has_parent_path() ? target.parent_path().string() : ".";
  std::string temporary = folder + "/." + target.filename().string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) cannot_write(path, errno, at);
  const mode_t mode = exists ? there.st_mode & 07777 : default_mode();
  bool ok = write_parts(fd, parts) && ::fchmod(fd, mode) == 0 && ::fsync(fd) == 0;
  int error = errno;
  if (::close(fd) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && ::rename(temporary.c_str(), target.c_str()) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok) {
    ::unlink(temporary.c_str());
    cannot_write(path, error, at);
  }
}

bool read_whole(const std::string& path, std::string& content) {
  content.clear();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info {};
  bool ok = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (ok) content.resize(static_cast<std::size_t>(info.st_size));
  std::size_t done = 0;
  while (ok && done < content.size()) {
    const ssize_t n = ::read(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    ok = n > 0;
    if (ok) done += static_cast<std::size_t>(n);
  }
  ::close(fd);
  return ok;
}

TemporaryFolder::TemporaryFolder(const std::string& parent, const std::string& prefix) {
  std::string name = parent + "/" + prefix + "XXXXXX";
  if (::mkdtemp(name.data())) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code ignored;  // a folder that cannot be removed is left
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace moonloop
