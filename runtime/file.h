#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"

/// Files that appear whole or not at all.
namespace moonloop {

/// Writes the concatenation of `parts` to `path`: a temporary file in the same folder, fsync,
/// rename. The previous content stays until the new one is complete, and stays when writing fails.
/// A path that exists and is not a regular file (`/dev/stdout`, a pipe) is written to as it is.
/// Fails `cannot-write`.
void write_file(const std::string& path, const std::vector<std::string_view>& parts,
                const Span& at = {});

/// The whole content of a regular file; false when it cannot be read.
bool read_whole(const std::string& path, std::string& content);

/// Removes a folder with the files in it when it goes out of scope.
class TemporaryFolder {
 public:
  /// `parent`/`prefix`XXXXXX, readable only by this user. `path()` is empty when it cannot be made.
  TemporaryFolder(const std::string& parent, const std::string& prefix);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace moonloop
