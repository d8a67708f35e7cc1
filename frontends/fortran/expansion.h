#pragma once
#include "frontends/fortran/program.h"
#include "frontends/fortran/sections.h"

namespace moonloop::fortran {

/// Whole arrays as loops over elements: the statements are in arrays.cpp, the computations that
/// expressions need before them in array_values.cpp.
class Expansion {
 public:
  Expansion(Routine& r, const std::vector<Routine>& all) : r_(r), all_(all) {}
  void run();

 private:
  /// A loop of a variable over a range.
  using Range = Forall::Range;

  // ---- Names.
  static std::set<std::string> names_of(const Body& b);
  std::string own_variable(const std::string& name, const Span& at);
  Expr kept(const Expr& e, const std::string& name, Body& out, const Span& at);

  // ---- Computed once, before a statement (array_values.cpp).

  /// `e` with the results of array constructors and functions as arrays and, where `once` holds,
  /// with scalars of arrays as variables.
  Expr prepared(const Expr& e, bool once, Body& out, const Span& at);
  Expr computed(const Expr& e, Body& out, const Span& at);
  Expr part(const Expr& e, Body& out, const Span& at);
  Expr bound(const std::string& end, const Expr& e, std::int64_t dim) const;
  Expr declared(const Expr& e) const;
  Variable& new_array(const std::string& name, const Type& type, const Span& at);
  Expr table(const Exprs& args, const Span& at);
  Expr constructed(const Exprs& pieces, Body& out, const Span& at);
  Expr length(const Expr& p, const Span& at) const;
  Expr piece(const std::string& array, const Expr& before, const Expr& p, Body& out,
             const Span& at);
  Expr given(const std::string& function, Exprs arguments, Body& out, const Span& at);
  Expr of_bits(const std::string& name, const Exprs& args, Body& out, const Span& at);
  Expr place_of_extreme(const std::string& name, const Exprs& args, Body& out, const Span& at);
  Expr reshaped(const Exprs& args, Body& out, const Span& at);
  Expr shifted(bool around, const Exprs& args, Body& out, const Span& at);
  Expr packed(const Exprs& args, Body& out, const Span& at);

  // ---- Texts (texts.cpp).
  struct Letters;
  Expr letter(const Letters& from, const Expr& n, const Span& at);
  std::string table_of(const std::string& letters, const Span& at);
  Variable& new_text(const Expr& most, const Span& at);
  Letters letters_of_place(const Expr& place, const Variable& v, const Span& at);
  std::vector<Letters> letters_of(const Expr& whole, Body& out, const Span& at);
  Letters in_memory(const std::vector<Letters>& from, Body& out, const Span& at);
  Letters with_place(const Letters& of, Body& out, const Span& at);
  Letters in_one(const std::vector<Letters>& from, Body& out, const Span& at);
  template <typename F>
  void for_letters(const Expr& first, const Expr& last, Body& out, const Span& at,
                   const F& statements, std::int64_t step = 1);
  void put_letters(const Letters& to, const std::vector<Letters>& from, const Expr& mask, Body& out,
                   const Span& at);
  void text_assignment(const Assignment& a, const Expr& mask, const Span& at, Body& out);
  Expr among(const Expr& here, const std::vector<Letters>& set, Body& out, const Span& at);
  Expr found(const Letters& of, const std::vector<Letters>& set, bool wanted, bool back, Body& out,
             const Span& at);
  Expr index_of(const Letters& in, const Letters& of, bool back, Body& out, const Span& at);
  Expr same_letters(const Letters& a, const Letters& b, Body& out, const Span& at);
  Expr letters_as_array(const Letters& of, const Expr& length, Body& out, const Span& at);
  Expr blank_behind(const Letters& of, const Expr& n, Body& out, const Span& at);
  Expr equal_texts(Letters a, Letters b, Body& out, const Span& at);
  Expr kept_number(const Expr& n, Body& out, const Span& at);
  Expr difference(const Letters& a, const Letters& b, Body& out, const Span& at);
  Expr of_texts(const std::string& name, const Exprs& args, Body& out, const Span& at);
  Expr text_argument(const Expr& e, const Variable* dummy, Body& out, Body& after, const Span& at);
  Expr with_text_arguments(const Expr& function, Body& out, const Span& at);
  void text_arguments(const std::string& name, Exprs& arguments, Body& out, Body& after,
                      const Span& at);

  // ---- Loops.
  void at_once(const std::vector<Range>& ranges, const Expr& to, const Expr& value,
               const Expr& mask, Body& out, const Span& at);
  Expr room(const std::string& name, const std::vector<Range>& ranges, const Type& type,
            const Span& at);
  std::vector<Range> over(const std::vector<Axis>& axes, Exprs& numbers, const Span& at);

  // ---- Statements.
  Body body(const Body& b);
  void loop(Do d, const Span& at, Body& out);
  void without_empty(Do& d) const;
  void choice(const Choice& c, const Span& at, Body& out);
  void subroutine(SubroutineCall c, const Span& at, Body& out);
  void elemental(SubroutineCall c, const Span& at, Body& out);
  void assignment(const Assignment& a, const Expr& mask, const Span& at, Body& out);
  Expr settled(const Expr& to, Body& out, const Span& at);
  Expr lasting(const Expr& mask, const std::set<std::string>& assigned, bool alone, Body& out,
               const Span& at);
  void where(const Where& w, const Expr& outer, const Span& at, Body& out);

  // ---- Variables of a construct.
  /// The constructs around an assignment of a `forall`.
  struct Each {
    std::vector<Range> ranges;
    Expr mask;                                 // or null
    std::map<std::string, std::string> names;  // as the routine has them
  };
  std::map<std::string, std::string> own_names(const Forall& f, const Span& at);
  void concurrent(const Forall& f, const Span& at, Body& out);
  void each_assignment(const Forall& f, Each around, const Span& at, Body& out);
  void each_masked(const Where& w, const Each& around, const Expr& outer, const Span& at,
                   Body& out);
  void each_element(const Assignment& a, const Each& around, const Expr& mask, const Span& at,
                    Body& out);
  Expr in_forall(const Expr& e, const Each& around, Body& out, const Span& at);

  Routine& r_;
  const std::vector<Routine>& all_;
  std::set<std::string> used_;
  std::set<std::string> computed_;             // what statements need, which may not read it
  std::map<std::string, Expr> lengths_;        // of the axes that loops run along
  std::map<std::string, std::string> tables_;  // of constant texts
};

/// Loops around statements, the first range outermost.
Body nest(const std::vector<Forall::Range>& ranges, Body inner, const Span& at);
/// Statements where a mask holds, or always where it is null.
Body masked(const Expr& mask, Body inner, const Span& at);

/// How many elements an axis has, where it has some.
inline Expr count(const Axis& a) { return length(a.lower, a.upper, a.step); }

}  // namespace moonloop::fortran
