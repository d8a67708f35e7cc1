#pragma once
#include <string>
#include <vector>

#include "runtime/buffer.h"

/// NumPy's `.npy` files (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
namespace moonloop {

/// The contents of a file's header.
struct NpyHeader {
  Scalar type = Scalar::F64;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Parses the text of a header, a Python dictionary. `path` is for messages. Fails `bad-npy`, and
/// `npy-type` for a type that has no counterpart here (float16, strings, records, …).
NpyHeader parse_npy_header(const std::string& text, const std::string& path);

/// The header of the file at `path`. Fails `cannot-read`, `bad-npy`, `npy-type`.
NpyHeader read_npy_header(const std::string& path);

/// Reads the array in `path` (`-`: standard input) into `to`, converting its order and byte order
/// to those of the buffer. The format's versions 1 to 3 are read. Fails `cannot-read`, `bad-npy`
/// (no .npy file, truncated, something after the array), `npy-type` and `npy-shape` when type or
/// shape are not those of the buffer.
void read_npy(const std::string& path, Buffer& to);

/// Writes the array to `path`, whole or not at all: version 1, little-endian, in Fortran order when
/// the buffer is contiguous only in that order, else in C order. Fails `cannot-write`, and
/// `npy-type` for records.
void write_npy(const std::string& path, const Buffer& from);

}  // namespace moonloop
