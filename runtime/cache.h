#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// Compiled files, by their inputs.
///
/// An entry is one file, `<key>.<kind>`, whose last bytes are a digest of the others; it is written
/// next to its place and renamed into it. So processes may share the folder without locks: each
/// sees an entry whole or not at all, and one truncated by a crash or a full disk is made again.
namespace moonloop {

class Cache {
 public:
  /// In `folder`, made when needed; empty: no cache, everything is made again.
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}
  /// `$XDG_CACHE_HOME/moonloop`, else `$HOME/.cache/moonloop`; no cache when neither is set.
  static Cache standard();

  const std::string& folder() const { return folder_; }
  static std::string key(std::string_view made_from);  // 64 hex digits

  /// The path of the entry when it is there and whole; else the empty string.
  std::string find(const std::string& key, const std::string& kind) const;
  /// What the entry was made of, where find() finds it.
  std::optional<std::string> content(const std::string& key, const std::string& kind) const;
  /// Keeps `content` and returns its path; the empty string when the folder cannot be written to.
  /// Entries not used for longest are removed when there are more than kMost.
  std::string keep(const std::string& key, const std::string& kind, std::string_view content) const;

  static constexpr std::size_t kMost = 1024;

 private:
  void trim() const;
  std::string folder_;
};

}  // namespace moonloop
