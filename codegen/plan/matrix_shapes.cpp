#include "codegen/plan/matrix_shapes.h"

namespace moonloop {
namespace {

constexpr Scalar F64 = Scalar::F64, F32 = Scalar::F32, F16 = Scalar::F16, I32 = Scalar::I32,
                 I8 = Scalar::I8, U8 = Scalar::U8;

constexpr MatrixShape kShapes[] = {
    {F64, F64, F64, false, 4, 8, 80},  {F64, F64, F64, false, 4, 16, 90},
    {F16, F16, F32, false, 8, 16, 75}, {F16, F16, F32, false, 16, 16, 80},
    {F32, F32, F32, true, 4, 16, 80},  {F32, F32, F32, true, 8, 16, 80},
    {I8, I8, I32, false, 16, 8, 75},   {I8, I8, I32, false, 16, 16, 80},
    {I8, I8, I32, false, 32, 16, 80},  {I8, U8, I32, false, 16, 8, 75},
    {I8, U8, I32, false, 16, 16, 80},  {I8, U8, I32, false, 32, 16, 80},
    {U8, I8, I32, false, 16, 8, 75},   {U8, I8, I32, false, 16, 16, 80},
    {U8, I8, I32, false, 32, 16, 80},  {U8, U8, I32, false, 16, 8, 75},
    {U8, U8, I32, false, 16, 16, 80},  {U8, U8, I32, false, 32, 16, 80},
};

}  // namespace

std::span<const MatrixShape> matrix_shapes() { return kShapes; }

bool takes(const MatrixShape& s, const Type& left, const Type& right, const Type& sum,
           bool rounds) {
  if (!(sum == Type(s.sum)) || rounds != s.rounds) return false;
  return s.sum == F64 || (left == Type(s.left) && right == Type(s.right));
}

std::string matrix_types() { return "float64, float16 into float32, and int8 or uint8 into int32"; }

}  // namespace moonloop
