#include "tuning/claims.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/diagnostic.h"
#include "runtime/sha256.h"

namespace moonloop::tuning {

Claims::Claims(const std::string& database) {
  const std::string path = database + "-claims";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0)
    fail("database-failed", {}, "cannot open `{}`, by which processes share the database: {}", path,
         std::strerror(errno));
}

Claims::~Claims() { ::close(file_); }

bool Claims::lock(const std::string& what, short kind) const {
  constexpr int kDigits = 15;  // of the hash, so that it is a place in a file
  struct flock place {};
  place.l_type = kind;
  place.l_whence = SEEK_SET;
  place.l_start = static_cast<off_t>(std::stoll(sha256(what).substr(0, kDigits), nullptr, 16));
  place.l_len = 1;
  return ::fcntl(file_, F_SETLK, &place) == 0 || (errno != EACCES && errno != EAGAIN);
}

/// A file system without locks gives every claim.
bool Claims::take(const std::string& what) { return lock(what, F_WRLCK); }

void Claims::give_back(const std::string& what) { lock(what, F_UNLCK); }

}  // namespace moonloop::tuning
