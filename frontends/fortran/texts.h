#pragma once
#include "frontends/fortran/program.h"

// Texts, which are of other than one letter: the letters are the first axis of an array of their
// codes. `a(2:5)` of a text is the section with the Slice 2:5 along that axis, and `a(i:i)` the
// element: one letter is always its code. An expression's value is one of these, a text_literal(),
// letters(), or one of the calls below.
namespace moonloop::fortran {

/// Calls about texts, by the prefix of their names. Of texts: `//`, `adjustl`, `adjustr`, `repeat`,
/// `trim`, and `table`, as kTable. Of numbers: `ichar`, `index`, `len`, `len_trim`, `scan`,
/// `verify`. Of truth values: a CompareOp's number.
inline constexpr const char* kOfTexts = "texts ";

/// The code that stands for a letter.
Expr code_of(char letter);
/// A letter as a number from 0 to 255.
Expr number_of_letter(const Expr& letter);

/// Of a letter, or of a text that is known.
Expr first_letter(const Expr& e);

/// Whether two texts, or letters, compare so; the shorter one counts as if blanks followed.
Expr compared_texts(CompareOp op, const Expr& a, const Expr& b, const Span& at);

/// Whether the value of `e` is a text, or a place that has one.
bool is_text(const Expr& e, const Routine& routine);

/// How many letters the place of a text, or of a letter, has.
Expr letters_in(const Expr& place, const Routine& routine);

}  // namespace moonloop::fortran
