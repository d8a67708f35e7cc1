#pragma once
#include <functional>
#include <string>
#include <string_view>

/// Compiled files, kept by what they were made from.
///
/// An entry is one file, `<key>.<kind>`, whose last bytes are a digest of the others; it is written
/// beside its place and renamed into it. So processes may share the folder without locks: each sees
/// an entry whole or not at all, and one that a crash or a full disk has torn is made anew.
namespace moonloop {

class Cache {
 public:
  /// In `folder`, made when needed; empty: no cache, everything is made anew.
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}
  /// `$XDG_CACHE_HOME/moonloop`, else `$HOME/.cache/moonloop`; no cache when neither is set.
  static Cache standard();

  const std::string& folder() const { return folder_; }
  static std::string key(std::string_view made_from);  // 64 hex digits

  /// The path of the entry when it is there and whole; else the empty string.
  std::string find(const std::string& key, const std::string& kind) const;
  /// Keeps `content` and returns its path; the empty string when the folder cannot be written to.
  /// Entries not used for longest are removed when there are more than kMost.
  std::string keep(const std::string& key, const std::string& kind, std::string_view content) const;

  static constexpr std::size_t kMost = 1024;

 private:
  void trim() const;
  std::string folder_;
};

}  // namespace moonloop
