#include "frontends/fortran/temporary_files.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/diagnostic.h"

namespace moonloop::fortran {
namespace {

std::string temporary_name(const std::string& end) {
  const char* temporary = std::getenv("TMPDIR");
  return std::string(temporary && *temporary ? temporary : "/tmp") + "/moonloop-XXXXXX" + end;
}

}  // namespace

Folder::Folder() : path_(temporary_name("")) {
  if (!mkdtemp(path_.data())) fail("cannot-write", {}, "cannot make a folder as `{}`", path_);
}

Folder::~Folder() {
  std::error_code none;
  std::filesystem::remove_all(path_, none);
}

File::File(const Source* source, const std::string& text, bool fixed, bool preprocessed) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::is_regular_file(source->name, none)) {
    std::ifstream in(source->name, std::ios::binary);
    if (std::string(std::istreambuf_iterator<char>(in), {}) == text) {
      path_ = source->name;
      return;
    }
  }
  const std::string end = fixed ? (preprocessed ? ".F" : ".f") : preprocessed ? ".F90" : ".f90";
  std::string pattern = temporary_name(end);
  const int file = mkstemps(pattern.data(), static_cast<int>(end.size()));
  if (file < 0) fail("cannot-write", {}, "cannot make a file as `{}`", pattern);
  close(file);
  std::ofstream out(pattern, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    std::remove(pattern.c_str());
    fail("cannot-write", {}, "cannot write `{}`", pattern);
  }
  path_ = pattern;
  copied_ = true;
}

File::~File() {
  if (copied_) std::remove(path_.c_str());
}

}  // namespace moonloop::fortran
