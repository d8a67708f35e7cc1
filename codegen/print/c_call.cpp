#include "codegen/print/c_expr.h"

// Calls of the kernel language's functions, as C's library has them.
namespace moonloop {
namespace {

/// C's name of a function on reals of double precision, where it is another one.
std::string library_name(const std::string& name) {
  if (name == "mad") return "fma";
  if (name == "abs") return "fabs";
  return name;
}

}  // namespace

CExpr::Piece CExpr::print_call(const Expr& e, const Call& x, const std::optional<Type>& wanted) {
  if (x.name == "if") return print(Expr(Select{x.args[0], x.args[1], x.args[2]}, e.at()), wanted);
  if (x.name == "indexof") {
    return {"(" + helpers_.type(k_.index_type) + ")(" + number_of(*x.args[0].as<Load>()) + ")",
            Prec::Unary, k_.index_type};
  }
  const FnInfo* f = find_function(x.name);
  if (!f) fail("unsupported", e.at(), "the function `{}` is not supported here", x.name);
  const Type t = type(e, wanted);
  const auto call_of = [&](const std::string& name, const Type& arg, const Type& result) -> Piece {
    std::string text = name + "(";
    for (std::size_t i = 0; i < x.args.size(); ++i)
      text += (i == 0 ? "" : ", ") + argument(x.args[i], arg);
    return {text + ")", Prec::Postfix, result};
  };
  const auto math = [&](const std::string& name, const Type& of, const Type& result) -> Piece {
    helpers_.include(is_complex(of.scalar) ? "complex.h" : "math.h");
    const std::string function = helpers_.math(name, of.scalar);
    if (is_real(of.scalar)) helpers_.vectorize(function, of.scalar);
    return call_of(function, of, result);
  };
  switch (f->cls) {
    case FnClass::Promoting:
      if (x.name == "clamp") {  // min(max(x, low), high)
        const Expr low = call("max", {x.args[0], x.args[1]}, e.at());
        return extremum(true, {low, x.args[2]}, t);
      }
      return extremum(x.name.substr(0, 3) == "min", x.args, t);
    case FnClass::Integer: return truncated(x.args[0], x.args[1], x.name == "truncdiv", t);
    case FnClass::Real:
    case FnClass::RealOrComplex:
      if (is_pair(t) && x.name != "pow") return pair_call(x.name, t, {value(x.args[0], t)});
      if (x.name == "pow") return print_power(e, x.args[0], x.args[1], wanted);
      if (x.name == "rsqrt") {
        const Piece root = math("sqrt", t, t);
        return {real_literal(1.0, t).text + " / " + root.text, Prec::Product, t};
      }
      if (in_ispc() && (x.name == "fmin" || x.name == "fmax"))
        return call_of(helpers_.function(x.name.substr(1), t.scalar), t, t);
      return math(library_name(x.name), t, t);
    case FnClass::Magnitude: {
      const Type arg = computation(e, wanted).operands[0];
      if (is_pair(arg)) {
        Piece p = pair_call("abs", arg, {value(x.args[0], arg)});
        p.type = real_part(arg.scalar);
        return p;
      }
      if (is_complex(arg.scalar)) return math("abs", arg, t);
      if (is_real(arg.scalar)) return math("fabs", arg, t);
      if (is_unsigned(arg.scalar)) return converted(x.args[0], arg, true);
      helpers_.include("stdlib.h");
      const bool wide = size_of(arg.scalar) == 8;
      const Type result = wide ? Scalar::I64 : Scalar::I32;
      if (helpers_.language() == Language::OpenCL || in_ispc()) {  // the first: the unsigned type
        const Piece p = call_of("abs", result, result);
        return narrowed({"(" + helpers_.type(result) + ")" + p.text, Prec::Unary, result}, t);
      }
      return narrowed(call_of(wide ? "llabs" : "abs", arg, result), t);
    }
    case FnClass::Component: {
      const Type arg = computation(e, wanted).operands[0];
      if (is_pair(arg))
        return {
            wrap(converted(x.args[0], arg, true), Prec::Postfix) + (x.name == "real" ? ".x" : ".y"),
            Prec::Postfix, real_part(arg.scalar)};
      if (is_complex(arg.scalar)) return math(x.name, arg, t);
      if (x.name == "real") return converted(x.args[0], t, true);
      return is_real(t.scalar) ? real_literal(0.0, t) : literal(0, t);
    }
    case FnClass::Conjugate:
      if (!is_complex(t.scalar)) return converted(x.args[0], t, true);
      if (is_pair(t)) return pair_call("conj", t, {value(x.args[0], t)});
      helpers_.include("complex.h");
      return call_of(t == Type(Scalar::C64) ? "conjf" : "conj", t, t);
    case FnClass::Test: {
      const Type arg = computation(e, wanted).operands[0];
      helpers_.include("math.h");
      const Type as = is_real(arg.scalar) ? arg : Type(Scalar::F64);
      const std::string a = wrap(converted(x.args[0], as, true), Prec::Select);
      if (in_ispc()) return {x.name + "(" + a + ")", Prec::Postfix, Scalar::Bool};
      return {x.name + "(" + a + ") != 0", Prec::Equal, Scalar::Bool};
    }
    case FnClass::Bessel: {
      if (helpers_.language() == Language::OpenCL || in_ispc())
        fail("unsupported", e.at(), "the function `{}` does not exist on target `{}`", x.name,
             to_string(plan_.target));
      helpers_.include("math.h");
      const std::string order = value(x.args[0], Scalar::I32);
      const std::string at = value(x.args[1], Scalar::F64);
      const std::string name = x.name == "bessel_jn" ? "jn" : "yn";
      if (helpers_.language() == Language::C)  // of the library, though not of the standard
        helpers_.external(name, "double " + name + "(int, double);\n");
      return {name + "(" + order + ", " + at + ")", Prec::Postfix, Scalar::F64};
    }
  }
  throw InternalError("no such class of functions");
}

}  // namespace moonloop
