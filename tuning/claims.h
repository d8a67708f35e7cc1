#pragma once
#include <string>

namespace moonloop::tuning {

/// What processes that share a database measure at this moment, so that no two of them measure the
/// same. A claim is a lock on one byte of the file `DATABASE-claims`, which stays empty: it ends
/// with its process, however that ends.
class Claims {
 public:
  /// Fails `database-failed`.
  explicit Claims(const std::string& database);
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// False where another process has it. Two claims of one process do not exclude each other.
  bool take(const std::string& what);
  void give_back(const std::string& what);

 private:
  bool lock(const std::string& what, short kind) const;
  int file_ = -1;
};

}  // namespace moonloop::tuning
