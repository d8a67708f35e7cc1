#include "frontends/fortran/modules.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "core/base/diagnostic.h"
#include "frontends/fortran/project.h"

namespace moonloop::fortran {
namespace {

namespace fs = std::filesystem;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// One statement, or the rest of a line.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  /// The next name in lower case; empty where something else comes.
  std::string name() {
    skip();
    std::string out;
    while (!rest_.empty() && is_letter(rest_.front())) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(rest_.front())));
      rest_.remove_prefix(1);
    }
    return out;
  }
  bool accept(std::string_view symbol) {
    skip();
    if (!rest_.starts_with(symbol)) return false;
    rest_.remove_prefix(symbol.size());
    return true;
  }
  bool at_end() {
    skip();
    return rest_.empty() || rest_.front() == '!';
  }

 private:
  void skip() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

/// The modules of a text: those that it has, and those that it uses. Submodules are `of:name`, and
/// use what they extend.
struct Modules {
  std::set<std::string> has, extends;
  std::vector<std::string> uses;
};

Modules modules_of(std::string_view text) {
  Modules out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n;", at), text.size());
    Words words(text.substr(at, end - at));
    const std::string first = words.name();
    if (first == "module") {
      const std::string name = words.name();
      if (!name.empty() && words.at_end()) out.has.insert(name);
    } else if (first == "submodule" && words.accept("(")) {
      const std::string of = words.name(), parent = words.accept(":") ? words.name() : "";
      const std::string name = words.accept(")") ? words.name() : "";
      if (!name.empty() && words.at_end()) {
        const std::string extended = parent.empty() ? of : of + ":" + parent;
        out.has.insert(of + ":" + name);
        out.extends.insert(extended);
        out.uses.push_back(extended);
      }
    } else if (first == "use") {
      bool intrinsic = false;
      if (words.accept(",")) intrinsic = words.name() == "intrinsic";
      words.accept("::");
      const std::string name = words.name();
      if (!name.empty() && !intrinsic && !words.accept("=")) out.uses.push_back(name);
    }
    at = end + 1;
  }
  return out;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Search {
 public:
  Search(const Source* source, const FortranOptions& how) : source_(source), how_(how) {
    std::error_code none;
    if (fs::is_regular_file(source->name, none)) {
      const fs::path beside = fs::path(source->name).parent_path();
      folders_.push_back(beside.empty() ? fs::path(".") : beside);
    }
    folders_.insert(folders_.end(), how.include_folders.begin(), how.include_folders.end());
  }

  ModuleFiles run() {
    const Modules own = modules_of(source_->text);
    for (const std::string& name : own.uses) {
      if (own.has.count(name)) continue;
      if (!indexed_) index();
      if (files_.count(name))
        add(files_.at(name));
      else
        look_elsewhere(name);
    }
    return std::move(out_);
  }

 private:
  struct File {
    std::string path;
    Modules modules;
  };

  /// Of two files that have a module, the first one counts: those that the options name, the
  /// project's, then those of folders in the order of these and of their names.
  void index() {
    indexed_ = true;
    std::error_code none;
    own_ = fs::weakly_canonical(source_->name, none);
    for (const std::string& path : how_.module_files) index(path);
    if (how_.project)
      for (const FortranProject::File& f : how_.project->files) index(f.path);
    for (const fs::path& folder : folders_) {
      std::set<fs::path> all;
      for (const fs::directory_entry& e : fs::directory_iterator(folder, none))
        if (e.is_regular_file(none) && is_fortran(e.path().string())) all.insert(e.path());
      for (const fs::path& path : all) index(path);
    }
  }

  void index(const fs::path& path) {
    std::error_code none;
    const fs::path canonical = fs::weakly_canonical(path, none);
    if (canonical == own_ || !indexed_files_.insert(canonical).second) return;
    auto file = std::make_shared<const File>(
        File{path.lexically_normal().string(), modules_of(read_text(path))});
    for (const std::string& name : file->modules.has) files_.emplace(name, file);
    for (const std::string& name : file->modules.extends) extending_[name].push_back(file);
  }

  /// Flang reports files that use each other in a circle.
  void add(const std::shared_ptr<const File>& file) {
    if (!seen_.insert(file->path).second) return;
    for (const std::string& name : file->modules.uses)
      if (const auto it = files_.find(name); it != files_.end() && !file->modules.has.count(name))
        add(it->second);
      else if (!file->modules.has.count(name))
        look_elsewhere(name);
    out_.paths.push_back(file->path);
    for (const std::string& name : file->modules.has) out_.homes.emplace(name, file->path);
    for (const std::string& name : file->modules.has)
      if (const auto it = extending_.find(name); it != extending_.end())
        for (const auto& submodule : it->second) add(submodule);
  }

  /// gfortran's module files are not in Flang's format. What `mpi` declares is in a header, too.
  void look_elsewhere(const std::string& module) {
    for (const fs::path& folder : folders_) {
      const fs::path path = folder / (module + ".mod");
      std::error_code none;
      if (module == "mpi" && fs::is_regular_file(folder / "mpif.h", none))
        out_.header_of_mpi = true;
      if (fs::is_regular_file(path, none) && read_text(path).starts_with("\x1f\x8b"))
        out_.compiled.emplace(module, path.lexically_normal().string());
    }
  }

  const Source* source_;
  const FortranOptions& how_;
  std::vector<fs::path> folders_;
  bool indexed_ = false;
  fs::path own_;  // of `source_`
  std::set<fs::path> indexed_files_;
  std::map<std::string, std::shared_ptr<const File>> files_;                   // by module
  std::map<std::string, std::vector<std::shared_ptr<const File>>> extending_;  // its submodules
  std::set<std::string> seen_;
  ModuleFiles out_;
};

}  // namespace

ModuleFiles files_of_modules(const Source* source, const FortranOptions& how) {
  return Search(source, how).run();
}

FortranOptions options_elsewhere(const std::string& path, const std::string& source,
                                 const FortranOptions& how) {
  if (how.project)
    if (const FortranProject::File* file = how.project->find(path)) return file->options();
  FortranOptions out = how;
  if (fs::path(path).extension() != fs::path(source).extension()) out.fixed_form.reset();
  return out;
}

}  // namespace moonloop::fortran
