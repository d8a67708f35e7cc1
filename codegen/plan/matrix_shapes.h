#pragma once
#include <span>
#include <string>

#include "core/expr/type.h"

namespace moonloop {

/// A product of small matrices that a warp of CUDA adds to a third one: `rows` by `depth` and
/// `depth` by 8. Work-item (c, r), 0 <= c < 4 and 0 <= r < 8, has of the result the rows r and,
/// where there are 16, r + 8, and of these the columns 2*c and 2*c + 1. Of the factors it has words
/// of 32 bits, or doubles, with neighbours along the depth: word p of the left factor's rows, and
/// of the right factor's column r, begins at step (4*p + c)*in_word(). (PTX, "Matrix fragments for
/// mma"; all of its shapes of these types are so.)
struct MatrixShape {
  Scalar left, right, sum;
  bool rounds;  // factors of float32, to the 11 bits of tf32
  int depth, rows;
  int from;  // the compute capability from which hardware has it, times 10; below, shuffles do it

  /// Factors in a word, and words along the depth.
  int in_word() const { return sum == Scalar::F64 ? 1 : 4 / static_cast<int>(size_of(left)); }
  int words() const { return depth / (4 * in_word()); }
};

std::span<const MatrixShape> matrix_shapes();

/// Whether the unit takes factors of these types; for doubles any others are converted.
bool takes(const MatrixShape& s, const Type& left, const Type& right, const Type& sum, bool rounds);

/// "float64; float16 into float32; …": the types of factors and sums.
std::string matrix_types();

}  // namespace moonloop
