#include "runtime/npy.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "core/base/diagnostic.h"
#include "fuzz/limits.h"
#include "runtime/file.h"

namespace {

using namespace moonloop;  // NOLINT: the program's own namespace

constexpr std::int64_t kLargest = 1 << 20;  // bytes of an array

/// A file in memory that holds these bytes.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size) : fd_(memfd_create("fuzz.npy", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

Layout packed(const NpyHeader& h, Order order) {
  Layout out;
  out.name = "a";
  out.type = Type(h.type);
  out.shape = h.shape;
  out.strides = contiguous(out.shape, order);
  return out;
}

/// The same array with the axes the other way round and a gap before it.
Layout reversed(Layout out) {
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    if (out.shape[d] > 0) out.offset += (out.shape[d] - 1) * out.strides[d];
    out.strides[d] = -out.strides[d];
  }
  out.offset += 3;
  return out;
}

bool same(const Buffer& a, const Buffer& b) { return a.checksum().bytes == b.checksum().bytes; }

/// An array has the same elements in any layout, also when written and read again.
void read_and_write(const std::string& path, const NpyHeader& h) {
  const Layout c = packed(h, Order::C), f = packed(h, Order::F);
  if (c.elements() > kLargest / size_of(h.type)) return;
  Buffer rows(c);
  read_npy(path, rows);
  static const TemporaryFolder folder(std::filesystem::temp_directory_path().string(), "fuzz-npy-");
  const std::string written = folder.path() + "/a.npy";
  for (const Layout& layout : {c, f, reversed(c), reversed(f)}) {
    Buffer there(layout), again(c);
    read_npy(path, there);
    write_npy(written, there);
    read_npy(written, again);
    if (!same(rows, there) || !same(rows, again) || !there.intact() || !again.intact())
      std::abort();
  }
}

}  // namespace

/// Any bytes as a .npy file: its header, then the array as the header says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::InputMemory memory;
  const File file(data, size);
  try {
    read_and_write(file.path(), read_npy_header(file.path()));
  } catch (const Error&) {}
  return 0;
}
