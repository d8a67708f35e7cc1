#include "frontends/fortran/project.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/diagnostic.h"
#include "frontends/fortran/compiler_options.h"

namespace moonloop {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The words of a command, quoted as for a shell.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> out;
  std::string word;
  bool any = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote != '\'' && c == '\\' && i + 1 < command.size()) {
      const char next = command[++i];
      if (quote && next != '"' && next != '\\' && next != '$' && next != '`') word += c;
      word += next;
      any = true;
    } else if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? '\0' : c;
      any = true;
    } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      if (any) out.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) out.push_back(word);
  return out;
}

[[noreturn]] void bad(const std::string& name, const std::string& why) {
  fail("bad-project", {}, "`{}` {}", name, why);
}

std::string text_of(const Json& entry, const char* key, const std::string& name) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_string())
    bad(name, fmt::format("has an entry without a text `{}`", key));
  return it->get<std::string>();
}

std::vector<std::string> command_of(const Json& entry, const std::string& name) {
  const auto it = entry.find("arguments");
  if (it == entry.end()) return words_of(text_of(entry, "command", name));
  std::vector<std::string> out;
  if (!it->is_array()) bad(name, "has `arguments` that are no list");
  for (const Json& w : *it)
    if (w.is_string())
      out.push_back(w.get<std::string>());
    else
      bad(name, "has `arguments` that are not texts");
  return out;
}

std::string canonical(const std::string& path) {
  std::error_code none;
  const fs::path out = fs::weakly_canonical(path, none);
  return none ? path : out.string();
}

}  // namespace

FortranOptions FortranProject::File::options() const {
  FortranOptions out;
  out.defines = predefined;
  out.openmp = false;
  CompilerOptions options(out, folder);
  for (std::size_t i = 1; i < words.size();) i += std::max<std::size_t>(options.read(words, i), 1);
  options.finish();
  return out;
}

const FortranProject::File* FortranProject::find(const std::string& path) const {
  const std::string wanted = canonical(path);
  const auto it = std::find_if(files.begin(), files.end(),
                               [&](const File& f) { return f.canonical == wanted; });
  return it == files.end() ? nullptr : &*it;
}

std::shared_ptr<const FortranProject> read_project(const std::string& path) {
  std::error_code none;
  auto out = std::make_shared<FortranProject>();
  out->name =
      fs::is_directory(path, none) ? (fs::path(path) / "compile_commands.json").string() : path;
  std::ifstream in(out->name, std::ios::binary);
  if (!in) fail("cannot-read", {}, "cannot read `{}`", out->name);
  const Json all = Json::parse(in, nullptr, false);
  if (!all.is_array()) bad(out->name, "is not a list of commands, as CMake writes it");
  for (const Json& entry : all) {
    if (!entry.is_object()) bad(out->name, "has an entry that is no object");
    const std::string file = text_of(entry, "file", out->name);
    if (!is_fortran(file)) continue;
    const std::string folder = text_of(entry, "directory", out->name);
    const std::string source = (fs::path(folder) / file).lexically_normal().string();
    out->files.push_back({source, folder, canonical(source), command_of(entry, out->name)});
  }
  if (out->files.empty()) bad(out->name, "has no Fortran file");
  return out;
}

FortranOptions options_in_project(std::shared_ptr<const FortranProject> project,
                                  const std::string& path, const FortranOptions& own) {
  const FortranProject::File* file = project->find(path);
  if (!file) {
    std::vector<std::string> names;
    for (const FortranProject::File& f : project->files) names.push_back(f.path);
    fail("not-in-project", {}, "`{}` does not compile `{}`{}", project->name, path,
         did_you_mean(path, names));
  }
  FortranOptions out = file->options();
  out.defines.insert(out.defines.end(), own.defines.begin(), own.defines.end());
  out.include_folders.insert(out.include_folders.begin(), own.include_folders.begin(),
                             own.include_folders.end());
  const FortranOptions usual;
  if (own.default_real != usual.default_real) out.default_real = own.default_real;
  if (own.default_double != usual.default_double) out.default_double = own.default_double;
  if (own.default_integer != usual.default_integer) out.default_integer = own.default_integer;
  if (own.fixed_form) out.fixed_form = own.fixed_form;
  if (own.fixed_columns != usual.fixed_columns) out.fixed_columns = own.fixed_columns;
  out.backslash = out.backslash || own.backslash;
  if (own.openmp) out.openmp = own.openmp;
  out.skip_output = own.skip_output;
  out.directives = own.directives;
  out.lanes = own.lanes;
  out.module_files = own.module_files;
  out.project = std::move(project);
  return out;
}

}  // namespace moonloop
