#include "frontends/fortran/includes.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "frontends/fortran/comments.h"

namespace moonloop::fortran {

std::string included_by(std::string_view line) {
  line = trimmed(line);
  if (line.starts_with("#")) line = trimmed(line.substr(1));
  if (!accept(line, "include") || line.size() < 2) return {};
  const char quote = line.front();
  if (quote != '"' && quote != '\'') return {};
  const std::size_t end = line.find(quote, 1);
  return end == std::string_view::npos ? "" : std::string(line.substr(1, end - 1));
}

const Source* included_source(const Source* by, const std::string& name,
                              const FortranOptions& how) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders{fs::path(by->name).parent_path()};
  folders.insert(folders.end(), how.include_folders.begin(), how.include_folders.end());
  for (const fs::path& folder : folders) {
    const std::string path = (folder / name).lexically_normal().string();
    std::error_code none;
    if (!fs::is_regular_file(path, none)) continue;
    std::ifstream in(path, std::ios::binary);
    return add_source(path, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return nullptr;
}

}  // namespace moonloop::fortran
