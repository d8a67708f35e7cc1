#pragma once
#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"

namespace moonloop::fortran {

/// The arguments of a routine of the interface that does one statement.
class OutputArguments {
 public:
  OutputArguments(std::string_view what, const Span& at) : what_(what), at_(at) {}

 protected:
  [[noreturn]] void fail(std::string_view what) const {
    unsupported(at_, what, is_output() ? "--skip-output leaves it out" : "");
  }
  bool is_output() const { return what_ == "write" || what_ == "print"; }

  template <typename T>
  static const SomeExpr& typed(const T& e) {
    const SomeExpr* out = sem::GetExpr(nullptr, e);
    if (!out) throw InternalError("Flang gives an expression no type");
    return *out;
  }

  Expr first_of_arguments(const SomeExpr& e) const {
    const Exprs all = to_arguments(e, at_);
    if (all.size() != 1) fail(fmt::format("a value of a derived type in `{}`", what_));
    return all[0];
  }

  /// Of an array that is an argument: from 1 on, as the source has them, or these without the last.
  enum class Bounds { FromOne, Source, Open };

  /// The name of a new argument with the value: `name`, where that is one.
  std::string argument(const SomeExpr& e, Bounds bounds = Bounds::FromOne,
                       const std::string& name = {}) {
    const std::string type = type_of(e);
    const Expr value = first_of_arguments(e);
    if (e.Rank() > 0 && !value.as<Var>())
      fail(fmt::format("part of an array, or an expression of arrays, in `{}`", what_));
    const bool text = is_text(e.GetType());
    return add(type, value, shape_of(value, e.Rank(), text, bounds), name);
  }

  /// Of a variable, as declarations have it; its bounds are arguments.
  std::string shape_of(const Expr& variable, int axes, bool text, Bounds bounds) {
    std::string shape;
    for (int axis = 1; axis <= axes; ++axis) {
      const auto bound = [&](const char* end) {
        return call(std::string(kBound) + end, {variable, lit(axis + (text ? 1 : 0))}, at_);
      };
      shape += shape.empty() ? "(" : ", ";
      if (bounds != Bounds::FromOne) {
        const bool open = bounds == Bounds::Open && axis == axes;
        const std::string low = add("integer(4)", bound("lbound"), "");
        shape += low + ":" + (open ? "*" : add("integer(4)", bound("ubound"), ""));
      } else {
        shape += add("integer(4)", length(bound("lbound"), bound("ubound"), 1), "");
      }
    }
    return shape.empty() ? shape : shape + ")";
  }

  std::string add(const std::string& type, const Expr& value, const std::string& shape,
                  std::string name = {}) {
    arguments_.push_back(value);
    if (name.empty()) {
      name = prefix_ + std::to_string(arguments_.size());
      numbered_.insert(name);
    }
    output_.declarations.push_back(type + ", intent(in) :: " + name + shape);
    return name;
  }

  /// The argument of this number may be changed.
  void may_change(std::size_t number) {
    std::string& declared = output_.declarations.at(number);
    constexpr std::string_view kIn = "intent(in)";
    if (const std::size_t at = declared.find(kIn); at != std::string::npos)
      declared.replace(at, kIn.size(), "intent(inout)");
    output_.changes.insert(number);
  }

  /// Names of these words are not those of arguments with a number.
  void keep_apart(const std::set<std::string>& words) {
    const auto is_number = [](std::string_view s) {
      return !s.empty() && s.find_first_not_of("0123456789") == s.npos;
    };
    const auto is_taken = [&](const std::string& word) {
      return word.starts_with(prefix_) && is_number(std::string_view(word).substr(prefix_.size()));
    };
    while (std::any_of(words.begin(), words.end(), is_taken))
      prefix_ = prefix_ == "z" ? "argument_" : std::string(1, static_cast<char>(prefix_[0] + 1));
  }

  void check_names() const {
    for (const std::string& name : numbered_)
      if (named_.count(name)) fail_beside(name);
  }
  [[noreturn]] void fail_beside(const std::string& name) const {
    fail(fmt::format("a variable `{}` beside other values in `{}`", name, what_));
  }

  std::string type_of(const SomeExpr& e) const {
    const auto type = e.GetType();
    if (!type) throw InternalError("Flang gives an expression no type");
    if (type->category() == TypeCategory::Logical)
      return fmt::format("logical({})", e.Rank() > 0 || ev::IsVariable(e) ? type->kind() : 4);
    return type_of(*type);
  }
  /// Of other than logical values.
  std::string type_of(const ev::DynamicType& type) const {
    if (type.category() == TypeCategory::Character && type.kind() == 1) return "character(*)";
    const auto number = numeric_type(type);
    if (!number || number->scalar == Scalar::F16)
      fail(fmt::format("a value of type {} in `{}`", type.AsFortran(), what_));
    const char* name = type.category() == TypeCategory::Integer ? "integer"
                       : type.category() == TypeCategory::Real  ? "real"
                                                                : "complex";
    return fmt::format("{}({})", name, type.kind());
  }

  std::string_view what_;
  Span at_;
  Exprs arguments_;
  std::set<std::string> named_;     // variables that are arguments of their names
  std::set<std::string> numbered_;  // names of other arguments: these letters and a number
  std::string prefix_ = "a";
  Output output_;
};

}  // namespace moonloop::fortran
