#include "codegen/print/c_expr.h"
#include "core/base/half.h"

// float16: C's compilers have it as _Float16. On devices its 16 bits are kept as an integer, which
// every one of them can store, and become a float before anything is computed: no extension of
// OpenCL and no header of CUDA is needed.
namespace moonloop {

std::string Helpers::half(const std::string& name) {
  const std::string bits = type(Scalar::F16);
  const bool to_value = name == "half_value", cl = language_ == Language::OpenCL;
  const bool wide = name == "half_bits_f64";
  const std::string from = to_value ? bits
                           : wide   ? "double"
                                    : "float",
                    to = to_value ? "float" : bits;
  std::string body;
  if (cl && to_value) {
    body = "  return vload_half(0, (__private half const *)&x);\n";
  } else if (cl) {
    body = "  " + bits + " y;\n  vstore_half_rte(x, 0, (__private half *)&y);\n  return y;\n";
  } else {
    // nvcc 13.0 crashes where it merges the conversions to half of two branches.
    body = "  " + to + " y;\n  asm" + (to_value ? "" : " volatile") + "(\"" +
           (to_value ? "cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x)"
            : wide   ? "cvt.rn.f16.f64 %0, %1;\" : \"=h\"(y) : \"d\"(x)"
                     : "cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x)") +
           ");\n  return y;\n";
  }
  check_own(name);
  if (wide) use(Feature::Fp64);
  functions_[name] = std::string(cl ? "" : "static __device__ __forceinline__ ") + to + " " + name +
                     "(" + from + " const x) {\n" + body + "}\n";
  return name;
}

/// The value at a place of type `t`, as used in computations.
CExpr::Piece CExpr::loaded(const std::string& place, const Type& t) {
  if (!(t == Type(Scalar::F16))) return {place, Prec::Postfix, t};
  if (helpers_.language() == Language::C || in_ispc())
    return {"(float)" + place, Prec::Unary, Scalar::F32};
  return {helpers_.half("half_value") + "(" + place + ")", Prec::Postfix, Scalar::F32};
}

/// `e` as stored in float16. A value that is float16 already is copied.
CExpr::Piece CExpr::stored_as_half(const Expr& e) {
  const auto* cast = e.as<Cast>();
  if (cast && cast->type == Type(Scalar::F16)) return stored_as_half(cast->arg);
  const bool place = e.as<Var>() || e.as<Load>() || e.as<Field>();
  if (place && type(e) == Type(Scalar::F16)) {
    for (const StandIn& s : stand_ins_)
      if (equal(e, s.what)) return {s.text, Prec::Postfix, Scalar::F16};
    return {this->place(e), Prec::Postfix, Scalar::F16};
  }
  // A double is rounded once.
  const Type t = type(e, Type(Scalar::F16));
  const bool wide = real_part(t.scalar) == Scalar::F64;
  const Piece p = converted(e, wide ? Scalar::F64 : Scalar::F32, true);
  if (in_ispc()) return this->cast(p, Scalar::F16);
  if (helpers_.language() == Language::C) return {p.text, p.prec, Scalar::F16};
  return {helpers_.half(wide ? "half_bits_f64" : "half_bits") + "(" + p.text + ")", Prec::Postfix,
          Scalar::F16};
}

/// A value rounded to float16.
CExpr::Piece CExpr::rounded_to_half(const Expr& e) {
  const Piece p = stored_as_half(e);
  if (in_ispc()) return {"(float)" + wrap(p, Prec::Unary), Prec::Unary, Scalar::F32};
  if (helpers_.language() != Language::C) return loaded(p.text, Scalar::F16);
  return {"(float)(_Float16)" + wrap(p, Prec::Unary), Prec::Unary, Scalar::F32};
}

}  // namespace moonloop
