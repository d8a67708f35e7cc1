#include "codegen/print/c_printer.h"

// Products of small matrices by the matrix units of CUDA's hardware. The parts of the operands and
// the result in each work-item are those of PTX for mma.m8n8k4 and mma.m16n8k4 on doubles.
namespace moonloop {

namespace {

const char* const kEightRows =
    R"(static __device__ __forceinline__ void mma_8x8x4(double &c0, double &c1, double a, double b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c0), "+d"(c1)
      : "d"(a), "d"(b));
#else
  int const column = threadIdx.x, row = threadIdx.y;
  for (int k = 0; k < 4; ++k) {
    double const left = __shfl_sync(0xffffffffu, a, 4*row + k);
    double const b0 = __shfl_sync(0xffffffffu, b, 8*column + k);
    double const b1 = __shfl_sync(0xffffffffu, b, 8*column + 4 + k);
    c0 += left*b0;
    c1 += left*b1;
  }
#endif
}
)";

const char* const kSixteenRows =
    R"(static __device__ __forceinline__ void mma_16x8x4(double &c0, double &c1, double &c2, double &c3,
                                                  double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
      : "d"(a0), "d"(a1), "d"(b));
#else
  mma_8x8x4(c0, c1, a0, b);
  mma_8x8x4(c2, c3, a1, b);
#endif
}
)";

}  // namespace

std::string Helpers::matrix_unit(int rows) {
  functions_["mma 1"] = kEightRows;
  if (rows == 16) functions_["mma 2"] = kSixteenRows;  // uses the first one
  return rows == 16 ? "mma_16x8x4" : "mma_8x8x4";
}

void CPrinter::matrix_step(const Loop& x) {
  const MatrixStep& m = plan_.matrix_steps[static_cast<std::size_t>(*x.matrix)];
  const Stmt* inner = &x.body.at(0);
  while (const auto* l = std::get_if<Loop>(&inner->op)) inner = &l->body.at(0);
  std::map<std::string, Expr> values;
  for (const auto& [iname, e] : std::get<Run>(inner->op).values)
    values.emplace(iname, without_truncation(e));
  const Expr& sum = k_.instructions[static_cast<std::size_t>(m.insn)]->lhs[0];
  const int halves = m.half.empty() ? 1 : 2;
  std::vector<std::string> arguments;
  expr_.within_domains(true);
  for (int half = 0; half < halves; ++half)
    for (int pair = 0; pair < 2; ++pair) {
      std::map<std::string, Expr> here = values;
      here[m.pair] = lit(pair);
      if (halves == 2) here[m.half] = lit(half);
      expr_.set_instruction(m.insn, here);
      arguments.push_back(expr_.place(substitute(sum, here)));
    }
  const auto operand = [&](const Expr& e, const std::map<std::string, Expr>& own) {
    std::map<std::string, Expr> here = values;
    for (const auto& [iname, value] : own) here[iname] = value;
    arguments.push_back(expr_.value(expr_.with_values(e, here), Scalar::F64));
  };
  expr_.set_instruction(m.insn, values);
  for (int half = 0; half < halves; ++half) {
    std::map<std::string, Expr> own{{m.depth, var(m.column)}};
    if (halves == 2) own[m.half] = lit(half);
    operand(m.left, own);
  }
  operand(m.right, {{m.depth, var(m.column)}, {m.column, lit(0)}, {m.pair, var(m.row)}});
  expr_.within_domains(false);
  std::string text;
  for (const std::string& a : arguments) text += (text.empty() ? "" : ", ") + a;
  line(helpers_.matrix_unit(8 * halves) + "(" + text + ");");
}

}  // namespace moonloop
