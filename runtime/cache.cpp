#include "runtime/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/base/diagnostic.h"
#include "runtime/file.h"
#include "runtime/sha256.h"

namespace moonloop {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kDigest = 64;

/// The content without its digest, when that is right.
bool whole(const std::string& file) {
  if (file.size() < kDigest) return false;
  const std::string_view all = file;
  return sha256(all.substr(0, all.size() - kDigest)) == all.substr(all.size() - kDigest);
}

}  // namespace

Cache Cache::standard() {
  const char* given = std::getenv("XDG_CACHE_HOME");
  // As the XDG base directory specification has it: a relative path is ignored.
  if (given && given[0] == '/') return Cache(std::string(given) + "/moonloop");
  const char* home = std::getenv("HOME");
  return Cache(home && home[0] == '/' ? std::string(home) + "/.cache/moonloop" : std::string());
}

std::string Cache::key(std::string_view made_from) { return sha256(made_from); }

std::string Cache::find(const std::string& key, const std::string& kind) const {
  if (folder_.empty()) return {};
  const std::string path = folder_ + "/" + key + "." + kind;
  std::string content;
  if (!read_whole(path, content) || !whole(content)) return {};
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now; for trim()
  return path;
}

std::optional<std::string> Cache::content(const std::string& key, const std::string& kind) const {
  std::string all;
  const std::string path = find(key, kind);
  if (path.empty() || !read_whole(path, all) || !whole(all)) return std::nullopt;
  all.resize(all.size() - kDigest);
  return all;
}

std::string Cache::keep(const std::string& key, const std::string& kind,
                        std::string_view content) const {
  if (folder_.empty()) return {};
  std::error_code none;
  if (!fs::is_directory(folder_, none)) {
    fs::create_directories(folder_, none);
    if (none) return {};
    fs::permissions(folder_, fs::perms::owner_all, none);  // code that we run: only ours
  }
  const std::string path = folder_ + "/" + key + "." + kind;
  try {
    write_file(path, {content, sha256(content)});
  } catch (const Error&) {
    return {};  // a cache that cannot be written to is not an error
  }
  trim();
  return path;
}

void Cache::trim() const {
  std::error_code none;
  std::vector<fs::path> all;
  for (fs::directory_iterator it(folder_, none), end; !none && it != end; it.increment(none))
    if (it->path().filename().string()[0] != '.' && it->is_regular_file(none))
      all.push_back(it->path());
  if (all.size() <= kMost) return;
  std::vector<std::pair<fs::file_time_type, fs::path>> by_age;
  for (fs::path& p : all) {
    const auto used = fs::last_write_time(p, none);
    if (!none) by_age.emplace_back(used, std::move(p));
  }
  std::sort(by_age.begin(), by_age.end());
  for (std::size_t i = 0; i + kMost * 3 / 4 < by_age.size(); ++i)
    fs::remove(by_age[i].second, none);
}

}  // namespace moonloop
