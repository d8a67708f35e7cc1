#include <algorithm>

#include "codegen/plan/alignment.h"
#include "codegen/plan/array_places.h"
#include "codegen/print/c_printer.h"

// Products of small matrices by the matrix units of CUDA's hardware: codegen/plan/matrix_shapes.h
// says which, and what of the operands and of the result each work-item has.
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

constexpr int kParts = 4;  // of 8 rows with 16 bytes each, that ldmatrix loads at once

/// The name of a factor's type in PTX, and the value of part `i` of its word `x` in C.
struct Factor {
  const char *type, *value;
};
Factor factor(const MatrixShape& s, Scalar t) {
  if (s.rounds) return {"tf32", "__uint_as_float(x)"};
  if (t == Scalar::F16) return {"f16", "half_value(static_cast<unsigned short>(x >> 16*i))"};
  if (t == Scalar::I8) return {"s8", "static_cast<signed char>(x >> 8*i)"};
  return {"u8", "static_cast<unsigned char>(x >> 8*i)"};
}

/// `pattern` with 0, 1, … for `#`, put together.
std::string listed(const std::string& pattern, int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) {
    out += out.empty() ? "" : ", ";
    for (const char c : pattern) out += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return out;
}

/// The hardware's instruction, or where it has none each part of a word from the work-item that has
/// it. Sums of floats are not rounded alike then.
std::string unit_of_words(const MatrixShape& s, const std::string& name) {
  const bool whole = s.sum == Scalar::I32;
  const std::string sum = whole ? "int" : "float", of_sum = whole ? "s32" : "f32";
  const Factor left = factor(s, s.left), right = factor(s, s.right);
  const int sums = s.rows / 4, rows = s.rows / 8, words = s.words();
  const int first = sums, second = sums + rows * words, end = second + words;
  const std::string result = "{" + listed("%#", 0, sums) + "}";
  const std::string head = "static __device__ __forceinline__ void " + name + "(";
  std::string text =
      head + parameter_list({listed(sum + " &c#", 0, 2), listed(sum + " &c#", 2, sums),
                             "unsigned const *a", "unsigned const *b"},
                            head.size());
  if (rows == 1)
    text = head + listed(sum + " &c#", 0, 2) + ", unsigned const *a, unsigned const *b";
  text += fmt::format(R"() {{
#if __CUDA_ARCH__ >= {}0
  asm volatile(
      "mma.sync.aligned.m{}n8k{}.row.col.{}.{}.{}.{} {}, "
      "{{{}}}, {{{}}}, {};"
      : {}
      : {},
        {});
#else
  int const column = threadIdx.x, row = threadIdx.y;
  auto const left = [](unsigned x, int i) {{ return {}; }};
  auto const right = [](unsigned x, int i) {{ return {}; }};
#pragma unroll
  for (int p = 0; p < {}; ++p)
    for (int k = 0; k < 4; ++k) {{
      unsigned const b0 = __shfl_sync(0xffffffffu, b[p], 8*column + k);
      unsigned const b1 = __shfl_sync(0xffffffffu, b[p], 8*column + 4 + k);
)",
                      s.from, s.rows, s.depth, of_sum, left.type, right.type, of_sum, result,
                      listed("%#", first, second), listed("%#", second, end), result,
                      listed(whole ? "\"+r\"(c#)" : "\"+f\"(c#)", 0, sums),
                      listed("\"r\"(a[#])", 0, rows * words), listed("\"r\"(b[#])", 0, words),
                      left.value, right.value, words);
  for (int half = 0; half < rows; ++half) {
    const std::string at = rows == 1 ? "p" : half == 0 ? "2*p" : "2*p + 1";
    text += fmt::format(R"(      unsigned const a{0} = __shfl_sync(0xffffffffu, a[{1}], 4*row + k);
      for (int i = 0; i < {2}; ++i) {{
        c{3} += left(a{0}, i)*right(b0, i);
        c{4} += left(a{0}, i)*right(b1, i);
      }}
)",
                        half, at, s.in_word(), 2 * half, 2 * half + 1);
  }
  return text + "    }\n#endif\n}\n";
}

std::string loads(int parts, bool transposed, const std::string& name) {
  std::string text = fmt::format(
      R"(static __device__ __forceinline__ void {}(unsigned *words, void const *row) {{
#if __CUDA_ARCH__ >= 750
  asm volatile("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {{{}}}, [%{}];"
               : {}
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#else
  unsigned long long const at = reinterpret_cast<unsigned long long>(row);
  int const column = threadIdx.x, line = threadIdx.y;
  for (int p = 0; p < {}; ++p) {{
)",
      name, parts, transposed ? ".trans" : "", listed("%#", 0, parts), parts,
      listed("\"=r\"(words[#])", 0, parts), parts);
  text += transposed
              ? R"(    unsigned long long const one = __shfl_sync(0xffffffffu, at, 8*p + 2*column);
    unsigned long long const two = __shfl_sync(0xffffffffu, at, 8*p + 2*column + 1);
    words[p] = reinterpret_cast<unsigned short const *>(one)[line] |
               static_cast<unsigned>(reinterpret_cast<unsigned short const *>(two)[line]) << 16;
)"
              : R"(    unsigned long long const one = __shfl_sync(0xffffffffu, at, 8*p + line);
    words[p] = reinterpret_cast<unsigned const *>(one)[column];
)";
  return text + "  }\n#endif\n}\n";
}

}  // namespace

std::string Helpers::matrix_unit(const MatrixShape& s) {
  std::string name = fmt::format("mma_{}x8x{}", s.rows, s.depth);
  if (s.sum == Scalar::F64) {
    functions_["mma 1"] = kEightRows;
    if (s.rows == 16) functions_["mma 2"] = kSixteenRows;  // uses the first one
    return name;
  }
  name += std::string("_") + factor(s, s.left).type;
  if (s.left != s.right) name += std::string("_") + factor(s, s.right).type;
  if (s.left == Scalar::F16) half("half_value");
  functions_[name] = unit_of_words(s, name);
  return name;
}

std::string Helpers::load_matrices(int parts, bool transposed) {
  const std::string name =
      "load_matrices_" + std::to_string(parts) + (transposed ? "_transposed" : "");
  functions_[name] = loads(parts, transposed, name);
  return name;
}

std::string Helpers::pack(Scalar s) {
  const std::string head = "static __device__ __forceinline__ unsigned ";
  if (s == Scalar::F16) {
    functions_["pack_halves"] = head +
                                "pack_halves(unsigned short a, unsigned short b) {\n"
                                "  return a | static_cast<unsigned>(b) << 16;\n}\n";
    return "pack_halves";
  }
  functions_["pack_bytes"] =
      head +
      "pack_bytes(unsigned char a, unsigned char b, unsigned char c,\n"
      "                                                      unsigned char d) {\n"
      "  return a | b << 8 | c << 16 | static_cast<unsigned>(d) << 24;\n}\n";
  return "pack_bytes";
}

std::string Helpers::round_to_tf32(int words) {
  const std::string name = "round_to_tf32_" + std::to_string(words);
  functions_[name] = fmt::format(
      R"(static __device__ __forceinline__ void {}(unsigned *words) {{
#if __CUDA_ARCH__ >= 800
#pragma unroll
  for (int i = 0; i < {}; ++i)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(words[i]) : "f"(__uint_as_float(words[i])));
#endif
}}
)",
      name, words);
  return name;
}

/// Consecutive products. Words of factors are loaded once for all of them, where they are first
/// needed: a product writes to registers only.
class MatrixProducts {
 public:
  explicit MatrixProducts(CPrinter& p) : p_(p), expr_(p.expr_) {}

  void add(const Loop& x) {
    const Stmt* inner = &x.body.at(0);
    while (const auto* l = std::get_if<Loop>(&inner->op)) inner = &l->body.at(0);
    values_.clear();
    for (const auto& [iname, e] : std::get<Run>(inner->op).values)
      values_.emplace(iname, without_truncation(e));
    step_ = &p_.plan_.matrix_steps[static_cast<std::size_t>(*x.matrix)];
    Call call{step_->shape, {}, {}, {}};
    expr_.within_domains(true);
    for (int half = 0; half < halves(); ++half)
      for (int pair = 0; pair < 2; ++pair) {
        std::map<std::string, Expr> here = values_;
        here[step_->pair] = lit(pair);
        if (halves() == 2) here[step_->half] = lit(half);
        expr_.set_instruction(step_->insn, here);
        const Expr& sum = p_.k_.instructions[static_cast<std::size_t>(step_->insn)]->lhs[0];
        call.sums += expr_.place(substitute(sum, here)) + ", ";
      }
    expr_.set_instruction(step_->insn, values_);
    call.left = operand(true);
    call.right = operand(false);
    expr_.within_domains(false);
    calls_.push_back(std::move(call));
  }

  void print() {
    bool open = false;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& c = calls_[i];
      const std::string function = p_.helpers_.matrix_unit(*c.shape) + "(";
      if (c.shape->sum == Scalar::F64) {
        p_.line(function + c.sums + listing(c.left.words) + ", " + listing(c.right.words) + ");");
        continue;
      }
      if (!open) p_.line("{"), ++p_.depth_, open = true;
      const std::string left = loaded(i, true), right = loaded(i, false);
      p_.line(function + c.sums + left + ", " + right + ");");
    }
    if (open) --p_.depth_, p_.line("}");
  }

 private:
  /// What a work-item has of a factor: words, or the address of a row of a part for
  /// `load_matrices`.
  struct Operand {
    std::vector<std::string> words;
    int count = 0;  // of words, or parts
    Expr row;       // a Load, or null
    bool transposed = false, rounds = false;
    std::string row_item, key;
  };
  struct Call {
    const MatrixShape* shape;
    std::string sums;
    Operand left, right;
    const Operand& factor(bool left_one) const { return left_one ? left : right; }
  };

  static std::string listing(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
    return out;
  }

  int halves() const { return step_->shape->rows / 8; }

  Operand operand(bool left) {
    const MatrixShape& s = *step_->shape;
    Operand out;
    out.rounds = s.rounds;
    out.count = s.words() * (left ? halves() : 1);
    out.row_item = step_->row;
    if (rows(left, out)) {
      out.key = fmt::format("{} {} &{}", out.count, out.transposed, expr_.place(out.row));
      return out;
    }
    for (int p = 0; p < s.words(); ++p)
      for (int half = 0; half < (left ? halves() : 1); ++half) {
        std::map<std::string, Expr> own;
        if (left && halves() == 2) own[step_->half] = lit(half);
        if (!left) own[step_->column] = lit(0), own[step_->pair] = var(step_->row);
        out.words.push_back(word(left, p, std::move(own)));
      }
    out.key = listing(out.words);
    return out;
  }

  /// The word that begins at that step of the depth.
  std::string word(bool left, int p, std::map<std::string, Expr> own) {
    const MatrixShape& s = *step_->shape;
    const Expr& e = left ? step_->left : step_->right;
    const int n = s.in_word();
    const auto at = [&](int i) {
      own[step_->depth] = index_add({lit(4 * n * p + i), index_mul(lit(n), var(step_->column))});
      std::map<std::string, Expr> here = values_;
      for (const auto& [iname, value] : own) here[iname] = value;
      return here;
    };
    if (s.sum == Scalar::F64) return expr_.value(expr_.with_values(e, at(0)), Scalar::F64);
    const Scalar type = left ? s.left : s.right;
    if (s.rounds) return "__float_as_uint(" + expr_.value(expr_.with_values(e, at(0)), type) + ")";
    const auto* l = e.as<Load>();
    const std::optional<ArrayPlaces> lies = l ? places_in(p_.plan_, *l) : std::nullopt;
    if (lies && lies->step(*substitute(e, values_).as<Load>(), step_->depth) == 1) {
      const Expr first = lies->place(*substitute(e, at(0)).as<Load>());
      if (divisor_of(p_.k_, without_truncation(first)) % n == 0) {
        if (p_.plan_.lies_in(l->array, AddressSpace::Local)) p_.aligned_.insert(l->array);
        return "*(unsigned const *)&" + expr_.place(expr_.with_values(e, at(0)));
      }
    }
    std::string parts;
    for (int i = 0; i < n; ++i)
      parts += (i ? ", " : "") + expr_.value(expr_.with_values(e, at(i)), type);
    return p_.helpers_.pack(type == Scalar::F16 ? type : Scalar::U8) + "(" + parts + ")";
  }

  /// Whether the factor lies in local memory in rows of 16 bytes that begin at multiples of that:
  /// those of the left one along the depth, of the right one too or, if it has two bytes, along its
  /// columns. Sets the row whose address a work-item gives: item c + 4*r that of row
  /// 4*(r mod 2) + c in part r // 2.
  bool rows(bool left, Operand& out) {
    const MatrixShape& s = *step_->shape;
    const Expr& e = left ? step_->left : step_->right;
    const auto* l = e.as<Load>();
    if (s.sum == Scalar::F64 || !l || !p_.plan_.lies_in(l->array, AddressSpace::Local) ||
        p_.plan_.expansions.contains(l->array))
      return false;
    const std::optional<ArrayPlaces> lies = places_in(p_.plan_, *l);
    if (!lies) return false;
    const Expr r = var(step_->row);
    const auto quotient = [&](std::int64_t n) {
      return Expr(Binary{BinaryOp::FloorDiv, r, lit(n)});
    };
    const auto bit = [&](std::int64_t n) {  // whether r has n
      return n == 4 ? quotient(4) : Expr(Binary{BinaryOp::Mod, n == 1 ? r : quotient(n), lit(2)});
    };
    const Expr line = index_add({index_mul(lit(4), bit(1)), var(step_->column)});
    const int in_part = 4 * s.in_word();  // steps of the depth
    const auto steps_of = [&](std::int64_t n) { return index_mul(lit(in_part), bit(n)); };
    const Expr there = substitute(e, values_);
    const Load& now = *there.as<Load>();
    const int size = static_cast<int>(size_of(left ? s.left : s.right));
    std::map<std::string, Expr> here = values_;
    if (lies->step(now, step_->depth) == 1) {
      here[step_->depth] = s.words() == 1 ? lit(0) : steps_of(left && halves() == 2 ? 4 : 2);
      if (left) {
        here[step_->row] = line;
        if (halves() == 2) here[step_->half] = bit(2);
      } else {
        here[step_->column] = lit(0);
        here[step_->pair] = line;
      }
    } else if (!left && size == 2 && lies->step(now, step_->pair) == 1) {
      here[step_->column] = here[step_->pair] = lit(0);
      here[step_->depth] = s.words() == 1 ? line : index_add({steps_of(2), line});
      out.transposed = true;
    } else {
      return false;
    }
    const Expr place = lies->place(*substitute(e, here).as<Load>());
    if (divisor_of(p_.k_, without_truncation(place)) * size % 16 != 0) return false;
    p_.aligned_.insert(l->array);
    out.row = expr_.with_values(e, here);
    return true;
  }

  /// The words of a factor of call `i`, which are loaded if they are not yet: together with those
  /// that a later call needs, where one load takes them both.
  std::string loaded(std::size_t i, bool left) {
    const Operand& o = calls_[i].factor(left);
    if (const auto known = words_.find(o.key); known != words_.end()) return known->second;
    const std::string name = p_.names_.fresh(left ? "left" : "right");
    words_[o.key] = name;
    int count = o.count;
    if (!o.row) {
      p_.line((o.rounds ? "unsigned " : "unsigned const ") + name + "[" + std::to_string(count) +
              "] = {" + listing(o.words) + "};");
    } else {
      std::string row = "&" + expr_.place(o.row);
      for (std::size_t n = i + 1; n < calls_.size() && 2 * o.count <= kParts; ++n) {
        const Operand& next = calls_[n].factor(left);
        if (words_.contains(next.key)) continue;
        if (const auto away = distance(o, next)) {
          row += " + " + expr_.index(index_mul(lit(*away), second_part(o)), false, Prec::Sum);
          count *= 2;
          words_[next.key] = name + " + " + std::to_string(o.count);
        }
        break;
      }
      p_.line("unsigned " + name + "[" + std::to_string(count) + "];");
      p_.line(p_.helpers_.load_matrices(count, o.transposed) + "(" + name + ", " + row + ");");
    }
    if (o.rounds) p_.line(p_.helpers_.round_to_tf32(count) + "(" + name + ");");
    return name;
  }

  /// Whether the work-item's part is behind those of the first operand.
  static Expr second_part(const Operand& o) {
    const Expr parts{Binary{BinaryOp::FloorDiv, var(o.row_item), lit(2 * o.count)}};
    return o.count == 2 ? parts : Expr(Binary{BinaryOp::Mod, parts, lit(2)});
  }

  /// How many elements `b` lies behind `a`, if one load takes them both.
  std::optional<std::int64_t> distance(const Operand& a, const Operand& b) const {
    if (!b.row || a.row.as<Load>()->array != b.row.as<Load>()->array || a.count != b.count ||
        a.transposed != b.transposed)
      return std::nullopt;
    const Load &from = *a.row.as<Load>(), &to = *b.row.as<Load>();
    const ArrayPlaces lies = places_in(p_.plan_, from).value();
    std::int64_t out = 0;
    for (std::size_t i = 0; i < from.index.size(); ++i) {
      if (equal(from.index[i], to.index[i])) continue;
      const auto along = constant_value(index_sub(to.index[i], from.index[i]));
      const auto stride = as_int(lies.strides[i]);
      if (!along || !stride) return std::nullopt;
      out += *along * *stride;
    }
    return out;
  }

  CPrinter& p_;
  CExpr& expr_;
  const MatrixStep* step_ = nullptr;
  std::map<std::string, Expr> values_;  // of inames that are no loops around the step
  std::vector<Call> calls_;
  std::map<std::string, std::string> words_;  // by the operand's key: the words in registers
};

/// Prints the products that stand in the block from there on, and gives their number.
std::size_t CPrinter::matrix_steps(const Block& b, std::size_t from) {
  const auto product = [&](const Stmt& s) {
    const auto* x = std::get_if<Loop>(&s.op);
    return x && x->matrix ? x : nullptr;
  };
  if (!product(b[from])) return 0;
  MatrixProducts all(*this);
  std::size_t end = from;
  for (; end < b.size() && product(b[end]); ++end) all.add(*product(b[end]));
  all.print();
  return end - from;
}

}  // namespace moonloop
