#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/fortran/fortran.h"

namespace moonloop {

/// The value of word `i` where that is `-Xvalue` or `-X value`, and how many words these are.
std::optional<std::pair<std::string, std::size_t>> option_value(
    const std::vector<std::string>& words, std::size_t i, const std::string& option);

/// The options of Fortran compilers (gfortran, Flang, Intel's, NVIDIA's) that say how a source is
/// read: definitions, folders, default kinds, form and length of lines. Others say nothing about
/// it.
class CompilerOptions {
 public:
  /// `to` has what they say so far. Relative folders are in `folder`; empty: as they are.
  explicit CompilerOptions(FortranOptions& to, std::string folder = {})
      : to_(to), folder_(std::move(folder)) {}

  /// Reads word `i`. How many words that takes; 0 where it is not such an option. Fails
  /// `unsupported` for what Moonloop does not have, such as reals of 16 bytes.
  std::size_t read(const std::vector<std::string>& words, std::size_t i);
  /// After the last word. Of two that belong together one may be missing.
  void finish();

 private:
  void add_folder(const std::string& folder);

  FortranOptions& to_;
  std::string folder_;
  bool wide_ = false, own_double_ = false;  // -fdefault-real-8, -fdefault-double-8
};

}  // namespace moonloop
