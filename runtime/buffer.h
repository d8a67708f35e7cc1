#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/interpreter/interpreter.h"
#include "core/model/kernel.h"

/// Arrays that a kernel runs on.
namespace moonloop {

/// Where the elements of an array are. Strides and offset count elements; strides may be negative
/// or 0 where the extent allows it.
struct Layout {
  std::string name;  // of the array, for messages
  Type type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;

  /// Number of elements of the array. Fails `size-overflow`, `negative-extent`.
  std::int64_t elements() const;
  /// Number of elements of storage from the base pointer on: one more than the largest position of
  /// an element. Fails `size-overflow`, and `bad-layout` when an element is before the base.
  std::int64_t storage() const;
  /// `float64[4, 5]`.
  std::string str() const;
};
/// Strides without gaps. Fails `size-overflow`.
std::vector<std::int64_t> contiguous(const std::vector<std::int64_t>& shape, Order order);

/// One scalar inside an element: the element itself, or a field of a record.
struct Leaf {
  std::size_t offset;  // bytes from the start of the element
  Scalar scalar;
  std::string path;  // `x.y`, empty for an element that is a scalar
};
/// The scalars of a type, in order of fields, at the offsets that C gives them.
std::vector<Leaf> leaves(const Type& type);

/// Two runs of the same kernel on the same input give the same one, whatever the number of threads
/// or the layout of the array: elements count in C order of their indices, padding does not count.
struct Checksum {
  double re = 0, im = 0;    // compensated sum of all scalars as float64
  std::uint64_t bytes = 0;  // 64-bit FNV-1a of all scalars, little-endian
};

/// Owned storage of an array, aligned to 64 bytes, zero at first, with a guard zone on both sides.
class Buffer {
 public:
  /// Fails as Layout does, and `too-large` when the system has no memory for it.
  explicit Buffer(Layout layout);

  const Layout& layout() const { return layout_; }
  void* data() const { return data_; }  // the base; element 0 comes `offset` elements after it
  std::size_t bytes() const { return bytes_; }  // of storage, without the guard zones
  ArrayView view() const;                       // `data` points at the element of index 0

  /// Gives each element the value that `name` and its index determine, whatever the layout: reals
  /// uniform in [0, 1), complex numbers in both parts, integers 0 … 9, bools 0 or 1. Value number
  /// `p` (C order of indices, scalars of a record in order, real before imaginary part) is made
  /// from splitmix64(fnv1a(name) + p); so adding or removing an argument does not change the
  /// others.
  void fill(const std::string& name);
  /// Copies the elements of `from`, index by index. The shapes and types are equal.
  void copy_elements(const Buffer& from);
  /// Copies the storage of `from`, whose layout is the same.
  void copy_storage(const Buffer& from);

  Checksum checksum() const;
  /// The first `n` elements in C order, as text.
  std::vector<std::string> first(std::size_t n) const;
  /// Whether the guard zones are as they were made: nothing wrote past the ends.
  bool intact() const;

 private:
  struct Release {
    void operator()(void* p) const { std::free(p); }
  };
  Layout layout_;
  std::size_t bytes_ = 0;
  std::unique_ptr<void, Release> memory_;
  std::byte* data_ = nullptr;
};

/// Walks the elements of a buffer in C order of their indices:
///
///     for (Cursor c(buffer); c; c.next()) use(c.at());
class Cursor {
 public:
  explicit Cursor(const Buffer& b);
  explicit operator bool() const { return left_ > 0; }
  std::byte* at() const { return at_; }
  void next();

 private:
  std::vector<std::int64_t> shape_, steps_, index_;  // steps in bytes
  std::int64_t left_ = 0;
  std::byte* at_ = nullptr;
};

/// A scalar in memory as text that reads back to the same value: `3`, `0.1`, `true`, `1+2j`.
std::string scalar_text(Scalar scalar, const void* at);
/// An element: a scalar, or `{x: 1, y: 2}`.
std::string element_text(const std::vector<Leaf>& leaves, const std::byte* at);

/// The index of element number `position` in C order, as `[3, 4]`.
std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t position);

std::uint64_t fnv1a(const void* data, std::size_t n, std::uint64_t hash = 0xcbf29ce484222325u);

}  // namespace moonloop
