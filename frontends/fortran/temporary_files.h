#pragma once
#include <string>

#include "core/base/source.h"

// Files for Flang, which reads from paths alone.
namespace moonloop::fortran {

/// A folder that goes with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The source's own file where that has this text, else a copy, which goes with the object.
class File {
 public:
  File(const Source* source, const std::string& text, bool fixed, bool preprocessed);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool copied_ = false;
};

}  // namespace moonloop::fortran
