#include "frontends/fortran/texts.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/expansion.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Texts letter by letter.
namespace moonloop::fortran {
namespace {

constexpr std::int64_t kBlank = ' ';
constexpr std::int64_t kOneByOne = 8;  // so many letters are written without a loop

[[noreturn]] void cannot(const Span& at, std::string_view what) {
  fail("unsupported", at, "{} is not supported in Fortran kernels", what);
}

Expr least(const Expr& a, const Expr& b) {
  const auto m = as_int(a), n = as_int(b);
  if (m && n) return lit(std::min(*m, *n));
  return equal(a, b) ? a : call("min", {a, b});
}

Expr equal_to(const Expr& a, const Expr& b) { return Expr(Compare{CompareOp::Eq, a, b}); }

Expr truth(bool value) { return Expr(BoolLit{value}); }

/// All of them, without those that always hold.
Expr all_of(Exprs conditions) {
  std::erase_if(conditions, [](const Expr& e) {
    const auto* known = e.as<BoolLit>();
    return known && known->value;
  });
  return conditions.empty() ? truth(true) : conjunction(conditions);
}

/// The variable whose letters `e` are; null for others.
const Variable* text_variable(const Expr& e, const Routine& r) {
  if (!e.as<Var>() && !e.as<Load>()) return nullptr;
  const auto it = r.variables.find(written_name(e));
  return it != r.variables.end() && it->second.text ? &it->second : nullptr;
}

}  // namespace

Expr code_of(char letter) { return lit(static_cast<signed char>(letter)); }

Expr number_of_letter(const Expr& letter) {
  if (const auto n = as_int(letter)) return lit(static_cast<unsigned char>(*n));
  return Expr(Cast{Type(moonloop::Scalar::I32), Expr(Cast{Type(moonloop::Scalar::U8), letter})});
}

Expr first_letter(const Expr& e) {
  if (const Exprs* codes = as_letters(e)) return codes->front();
  const auto text = as_text(e);
  return !text || text->empty() ? e : lit(static_cast<unsigned char>(text->front()));
}

Expr compared_texts(CompareOp op, const Expr& a, const Expr& b, const Span& at) {
  return call(fmt::format("{}{}", kOfTexts, static_cast<int>(op)), {a, b}, at);
}

bool is_text(const Expr& e, const Routine& routine) {
  if (as_text(e) || as_letters(e)) return true;
  const std::string name = called(e, kOfTexts);
  if (!name.empty())
    return name == "//" || name == "adjustl" || name == "adjustr" || name == "repeat" ||
           name == "trim" || name == kTable;
  const auto* l = e.as<Load>();
  return text_variable(e, routine) && (!l || l->index.at(0).as<Slice>());
}

Expr letters_in(const Expr& place, const Routine& routine) {
  if (!is_text(place, routine)) return lit(1);
  const Axis a = axes_of(place, routine).at(0);
  const Expr n = count(a);
  return as_int(n) || place.as<Var>() ? n : call("max", {n, lit(0)});
}

/// Letters that follow one another.
struct Expansion::Letters {
  std::string constant;  // or
  Expr code;             // each letter is this one, or
  Expr place;            // a variable's, with subscripts, the first one a letter's number
  Expr first;            // in `place`
  Expr length, most;     // how many there are, and at most: that is known at the routine's start
};

/// The letter of a number from 1.
Expr Expansion::letter(const Letters& from, const Expr& n, const Span& at) {
  if (from.code) return from.code;
  if (from.place) {
    Load place = *from.place.as<Load>();
    place.index[0] = index_add({from.first, index_sub(n, lit(1))});
    return Expr(std::move(place), at);
  }
  if (const auto k = as_int(n)) {
    const auto at_letter = static_cast<std::size_t>(*k - 1);
    return code_of(at_letter < from.constant.size() ? from.constant[at_letter] : ' ');
  }
  return load(table_of(from.constant, at), {n}, at);
}

/// A constant array with these letters.
std::string Expansion::table_of(const std::string& letters, const Span& at) {
  if (letters.empty()) return table_of(" ", at);  // for code that does not run
  std::string& name = tables_[letters];
  if (!name.empty()) return name;
  Variable& v = new_array("letters", Scalar::I8, at);
  v.bounds.push_back({Expr(), lit(static_cast<std::int64_t>(letters.size()))});
  for (const char c : letters) v.initial.push_back(code_of(c));
  v.constant = v.character = v.text = true;
  return name = v.name;
}

/// A new text whose length is at most `most`.
Variable& Expansion::new_text(const Expr& most, const Span& at) {
  Variable& v = new_array("text", Scalar::I8, at);
  v.bounds.push_back({Expr(), most});
  v.character = v.text = true;
  computed_.insert(v.name);
  return v;
}

/// The letters of a variable: of a whole text, of a section, or of an element.
Expansion::Letters Expansion::letters_of_place(const Expr& place, const Variable& v,
                                               const Span& at) {
  Letters out;
  const auto* l = place.as<Load>();
  Exprs index = l ? l->index : Exprs(v.bounds.size(), Expr(Slice{Expr(), Expr(), lit(1)}, at));
  const Expr all = v.bounds[0].upper;
  if (const auto* s = index[0].as<Slice>()) {
    const Expr last = s->stop ? s->stop : all;
    out.first = s->start ? s->start : lit(1);
    const Expr n = index_sub(last, index_sub(out.first, lit(1)));
    const bool whole = as_int(out.first) == 1 && equal(last, all);
    out.length = as_int(n) || whole ? n : call("max", {n, lit(0)}, at);
    out.most = as_int(n) ? n : all;
  } else {
    out.first = index[0];
    out.length = out.most = lit(1);
  }
  index[0] = out.first;
  out.place = load(v.name, std::move(index), at);
  return out;
}

/// The value of a text, or of a letter, piece by piece.
std::vector<Expansion::Letters> Expansion::letters_of(const Expr& whole, Body& out,
                                                      const Span& at) {
  if (const auto text = as_text(whole)) {
    Letters l;
    l.constant = *text;
    l.length = l.most = lit(static_cast<std::int64_t>(text->size()));
    return {l};
  }
  const auto one = [&](const Expr& e) {
    Letters l;
    l.code = e;
    l.length = l.most = lit(1);
    return l;
  };
  if (const Exprs* codes = as_letters(whole)) {
    std::vector<Letters> all;
    for (const Expr& e : *codes) all.push_back(one(prepared(e, false, out, at)));
    return all;
  }
  const std::string name = called(whole, kOfTexts);
  const Exprs* args = name.empty() ? nullptr : &whole.as<Call>()->args;
  if (name == "//") {
    std::vector<Letters> all;
    for (const Expr& e : *args)
      for (Letters& l : letters_of(e, out, at)) all.push_back(std::move(l));
    return all;
  }
  if (name == "repeat") {
    const std::vector<Letters> of = letters_of((*args)[0], out, at);
    const Expr n = without_casts(prepared((*args)[1], false, out, at));
    const auto times = as_int(n);
    if (times && *times * static_cast<std::int64_t>(of.size()) <= 64) {
      std::vector<Letters> all;
      for (std::int64_t i = 0; i < *times; ++i) all.insert(all.end(), of.begin(), of.end());
      return all;
    }
    if (of.size() != 1 || as_int(of[0].length) != 1)
      cannot(at, "`repeat` of several letters, so often or a number of times that is not known,");
    Letters l = one(letter(of[0], lit(1), at));
    l.most = times ? n : call("max", {n, lit(0)}, at);
    l.length = times ? n : kept(l.most, "times", out, at);
    return {l};
  }
  if (name == "trim" || name == "adjustl" || name == "adjustr") {
    Letters of = in_one(letters_of((*args)[0], out, at), out, at);
    Letters blanks = one(lit(kBlank));
    const Expr all = of.length;
    if (name == "adjustl") {
      const Expr skipped = found(of, {}, false, false, out, at);
      const Expr none(Compare{CompareOp::Eq, skipped, lit(0)}, at);
      const Expr before =
          kept(Expr(Select{none, all, index_sub(skipped, lit(1))}, at), "blanks", out, at);
      of = with_place(of, out, at);
      of.first = index_add({of.first, before});
      of.length = index_sub(all, before);
      blanks.length = before;
      blanks.most = of.most;
      return {of, blanks};
    }
    const Expr n = found(of, {}, false, true, out, at);
    blanks.length = index_sub(all, n);
    blanks.most = of.most;
    of.length = n;
    return name == "trim" ? std::vector{of} : std::vector{blanks, of};
  }
  const Expr e = name == kTable ? whole : prepared(whole, false, out, at);
  if (name == kTable) {
    const Expr made = table(*args, at);
    Variable& v = r_.variables.at(made.as<Var>()->name);
    v.type = Scalar::I8;
    v.character = v.text = true;
    return {letters_of_place(made, v, at)};
  }
  if (const Variable* v = text_variable(e, r_)) return {letters_of_place(e, *v, at)};
  return {one(e)};
}

/// Letters in a new text.
Expansion::Letters Expansion::in_memory(const std::vector<Letters>& from, Body& out,
                                        const Span& at) {
  Exprs length, most;
  for (const Letters& l : from) length.push_back(l.length), most.push_back(l.most);
  const Expr n = length.empty() ? lit(0) : index_add(length);
  const Expr room = most.empty() ? lit(0) : index_add(most);
  Letters made;
  if (as_int(room) == 0) {  // the constant without letters
    made.length = made.most = lit(0);
    return made;
  }
  made.place = load(new_text(room, at).name, {lit(1)}, at);
  made.first = lit(1);
  made.most = room;
  made.length = as_int(n) || equal(n, room) ? n : kept(n, "length", out, at);
  put_letters(made, from, Expr(), out, at);
  return made;
}

/// The same as a variable's.
Expansion::Letters Expansion::with_place(const Letters& of, Body& out, const Span& at) {
  if (of.place) return of;
  if (of.code) return in_memory({of}, out, at);
  Letters made = of;
  made.place = load(table_of(of.constant, at), {lit(1)}, at);
  made.first = lit(1);
  return made;
}

Expansion::Letters Expansion::in_one(const std::vector<Letters>& from, Body& out, const Span& at) {
  return from.size() == 1 ? from[0] : in_memory(from, out, at);
}

/// Statements for each number from `first` to `last`.
template <typename F>
void Expansion::for_letters(const Expr& first, const Expr& last, Body& out, const Span& at,
                            const F& statements, std::int64_t step) {
  const auto reach = as_int(index_sub(last, first));
  if (reach && *reach * step < kOneByOne) {
    for (std::int64_t n = 0; n * step <= *reach * step; n += step)
      statements(index_add({first, lit(n)}), out);
    return;
  }
  const Expr n = new_scalar(r_, "letter", moonloop::Scalar::I32, at);
  Body inner;
  statements(n, inner);
  Do d{
      n.as<Var>()->name, first, last, lit(step), std::make_shared<Body>(std::move(inner)), nullptr};
  if (step == 1) d.step = Expr();
  out.push_back({at, std::move(d)});
}

/// Assigns letters to a place, and blanks to the rest of it. What is read has to be another place.
void Expansion::put_letters(const Letters& to, const std::vector<Letters>& from, const Expr& mask,
                            Body& out, const Span& at) {
  Expr done = lit(0);
  const auto put = [&](const Expr& n, const Expr& value, Body& b) {
    assignment({letter(to, n, at), value}, mask, at, b);
  };
  const auto is_full = [&] {
    const auto n = as_int(index_sub(done, to.length));
    return n && *n >= 0;
  };
  for (const Letters& l : from) {
    if (is_full()) return;
    const Expr n = least(l.length, index_sub(to.length, done));
    for_letters(lit(1), n, out, at,
                [&](const Expr& k, Body& b) { put(index_add({done, k}), letter(l, k, at), b); });
    done = index_add({done, l.length});
  }
  if (is_full()) return;
  for_letters(index_add({done, lit(1)}), to.length, out, at,
              [&](const Expr& k, Body& b) { put(k, lit(kBlank), b); });
}

/// An assignment to a text, or of a text to a letter.
void Expansion::text_assignment(const Assignment& a, const Expr& mask, const Span& at, Body& out) {
  std::vector<Letters> from = letters_of(a.value, out, at);
  const Expr place = prepared(a.to, false, out, at);
  if (!is_text(a.to, r_)) {  // the first letter
    Expr value = lit(kBlank);
    for (std::size_t i = from.size(); i-- > 0;) {
      const auto n = as_int(from[i].length);
      if (n == 0) continue;
      const Expr first = letter(from[i], lit(1), at);
      value =
          n ? first
            : Expr(Select{Expr(Compare{CompareOp::Ge, from[i].length, lit(1)}, at), first, value},
                   at);
    }
    return assignment({place, value, a.atomic}, mask, at, out);
  }
  const std::string& name = written_name(place);
  const Letters to = letters_of_place(place, r_.variables.at(name), at);
  const bool reads = std::any_of(from.begin(), from.end(), [&](const Letters& l) {
    std::set<std::string> names;
    for (const Expr& e : {l.place, l.code})
      if (e) collect_reads(e, names);
    return names.count(name) != 0;
  });
  const bool itself = from.size() == 1 && from[0].place && equal(from[0].place, to.place);
  if (reads && itself && equal(from[0].length, to.length)) return;
  // Each letter is assigned by itself, whatever else the array has.
  const bool letter_by_letter = from.size() == 1 && from[0].place && equal(from[0].first, to.first);
  if (reads && !letter_by_letter) {
    for (const Letters& l : from)
      if (l.place && !axes_of(l.place, r_).empty())
        cannot(at, "an array of texts that is read where it is assigned");
    from = {in_memory(from, out, at)};
  }
  put_letters(to, from, mask, out, at);
}

// ---- Values about texts.

/// Whether a letter is one of those of `set`; without any, a blank.
Expr Expansion::among(const Expr& here, const std::vector<Letters>& set, Body& out,
                      const Span& at) {
  Exprs any;
  if (set.empty()) any.push_back(equal_to(here, lit(kBlank)));
  for (const Letters& l : set) {
    if (const auto letters = as_int(l.length)) {
      for (std::int64_t n = 1; n <= *letters; ++n)
        any.push_back(equal_to(here, letter(l, lit(n), at)));
      continue;
    }
    const Expr found = new_scalar(r_, "among", moonloop::Scalar::Bool, at);
    out.push_back({at, Assignment{found, truth(false)}});
    for_letters(lit(1), l.length, out, at, [&](const Expr& n, Body& b) {
      append(masked(equal_to(here, letter(l, n, at)), {{at, Assignment{found, truth(true)}}}, at),
             b);
    });
    any.push_back(found);
  }
  return any.empty()      ? truth(false)
         : any.size() > 1 ? Expr(Nary{NaryOp::Or, std::move(any)}, at)
                          : any[0];
}

/// The place, from 1, of the first, or from `back` the last letter that is, or else is not, among
/// those of `set`, where without any blanks count; 0 where there is none.
Expr Expansion::found(const Letters& of, const std::vector<Letters>& set, bool wanted, bool back,
                      Body& out, const Span& at) {
  const Expr place = new_scalar(r_, "place", moonloop::Scalar::I32, at);
  out.push_back({at, Assignment{place, lit(0)}});
  const Expr first = back ? lit(1) : of.length, last = back ? of.length : lit(1);
  for_letters(
      first, last, out, at,
      [&](const Expr& k, Body& b) {
        const Expr here = letter(of, k, at);
        const Expr is = among(here, set, b, at);
        Body one;
        one.push_back({at, Assignment{place, k}});
        append(masked(wanted ? is : negation(is), std::move(one), at), b);
      },
      back ? 1 : -1);
  return place;
}

/// Where a text begins in another one: the first, or the last place; 0 where there is none.
Expr Expansion::index_of(const Letters& in, const Letters& of, bool back, Body& out,
                         const Span& at) {
  const Expr place = new_scalar(r_, "place", moonloop::Scalar::I32, at);
  out.push_back({at, Assignment{place, lit(0)}});
  const Letters where = with_place(in, out, at);
  const Expr end = index_add({index_sub(in.length, of.length), lit(1)});
  for_letters(
      back ? lit(1) : end, back ? end : lit(1), out, at,
      [&](const Expr& k, Body& b) {
        Letters part = where;
        part.first = index_add({part.first, index_sub(k, lit(1))});
        part.length = of.length;
        Body one;
        one.push_back({at, Assignment{place, k}});
        append(masked(same_letters(part, of, b, at), std::move(one), at), b);
      },
      back ? 1 : -1);
  return place;
}

/// Whether as many letters of both, those of `b`, are the same.
Expr Expansion::same_letters(const Letters& a, const Letters& b, Body& out, const Span& at) {
  const auto n = as_int(b.length);
  if (n && *n <= 2 * kOneByOne) {
    Exprs all;
    for (std::int64_t k = 1; k <= *n; ++k)
      all.push_back(equal_to(letter(a, lit(k), at), letter(b, lit(k), at)));
    return all_of(all);
  }
  const Expr x = letters_as_array(a, b.length, out, at), y = letters_as_array(b, b.length, out, at);
  return call(kOfArray + std::string("all"), {equal_to(x, y)}, at);
}

/// The first so many letters as a section of an array.
Expr Expansion::letters_as_array(const Letters& of, const Expr& length, Body& out, const Span& at) {
  const Letters from = with_place(of, out, at);
  Load place = *from.place.as<Load>();
  const Expr last = index_add({from.first, index_sub(length, lit(1))});
  place.index[0] = Expr(Slice{from.first, last, lit(1)}, at);
  return Expr(std::move(place), at);
}

/// Whether what follows the first `n` letters is blank.
Expr Expansion::blank_behind(const Letters& of, const Expr& n, Body& out, const Span& at) {
  Letters rest = of;
  const auto from = as_int(n);
  if (!of.code && !of.place) {
    const std::size_t last = of.constant.find_last_not_of(' ');
    const auto used = last == std::string::npos ? 0 : static_cast<std::int64_t>(last) + 1;
    return from ? truth(used <= *from) : Expr(Compare{CompareOp::Le, lit(used), n}, at);
  }
  if (const auto all = as_int(of.length); all && from && *all - *from <= kOneByOne) {
    Exprs blank;
    for (std::int64_t k = *from + 1; k <= *all; ++k)
      blank.push_back(equal_to(letter(of, lit(k), at), lit(kBlank)));
    return all_of(blank);
  }
  if (of.code)
    return Expr(
        Nary{NaryOp::Or,
             {Expr(Compare{CompareOp::Le, of.length, n}, at), equal_to(of.code, lit(kBlank))}},
        at);
  rest.first = index_add({of.first, n});
  const Expr array = letters_as_array(rest, index_sub(of.length, n), out, at);
  return call(kOfArray + std::string("all"), {equal_to(array, lit(kBlank))}, at);
}

Expr Expansion::equal_texts(Letters a, Letters b, Body& out, const Span& at) {
  const auto is_constant = [](const Letters& l) { return !l.place && !l.code; };
  if (is_constant(a)) std::swap(a, b);
  if (is_constant(b)) {  // its last blanks do not count
    b.constant.erase(b.constant.find_last_not_of(' ') + 1);
    b.length = b.most = lit(static_cast<std::int64_t>(b.constant.size()));
  }
  const auto m = as_int(a.length), n = as_int(b.length);
  if (is_constant(a))
    return truth(a.constant.substr(0, a.constant.find_last_not_of(' ') + 1) == b.constant);
  if (is_constant(b)) {
    if (m && *m < *n) return truth(false);
    const Expr enough = m ? truth(true) : Expr(Compare{CompareOp::Ge, a.length, b.length}, at);
    return all_of({enough, same_letters(a, b, out, at), blank_behind(a, b.length, out, at)});
  }
  const bool same = equal(a.length, b.length);
  Letters common = b;
  common.length = same ? b.length : kept_number(least(a.length, b.length), out, at);
  Exprs all{same_letters(a, common, out, at)};
  if (!same) {
    all.push_back(blank_behind(a, common.length, out, at));
    all.push_back(blank_behind(b, common.length, out, at));
  }
  return all_of(std::move(all));
}

Expr Expansion::kept_number(const Expr& n, Body& out, const Span& at) {
  return as_int(n) || n.as<Var>() ? n : kept(n, "length", out, at);
}

/// Less than, equal to, or greater than 0 as the first letters that differ are.
Expr Expansion::difference(const Letters& a, const Letters& b, Body& out, const Span& at) {
  const Expr order = new_scalar(r_, "order", moonloop::Scalar::I32, at);
  out.push_back({at, Assignment{order, lit(0)}});
  const auto look = [&](const Expr& from, const Expr& to, const auto& left, const auto& right) {
    for_letters(from, to, out, at, [&](const Expr& k, Body& body) {
      Body one;
      one.push_back({at, Assignment{order, index_sub(number_of_letter(left(k)),
                                                     number_of_letter(right(k)))}});
      append(masked(equal_to(order, lit(0)), std::move(one), at), body);
    });
  };
  const auto of = [&](const Letters& l) { return [&](const Expr& k) { return letter(l, k, at); }; };
  const auto blank = [](const Expr&) { return lit(kBlank); };
  const Expr common = kept_number(least(a.length, b.length), out, at);
  const Expr behind = index_add({common, lit(1)});
  look(lit(1), common, of(a), of(b));
  if (equal(a.length, b.length)) return order;
  look(behind, a.length, of(a), blank);
  look(behind, b.length, blank, of(b));
  return order;
}

/// The number, or truth value, that a call about texts gives.
Expr Expansion::of_texts(const std::string& name, const Exprs& args, Body& out, const Span& at) {
  const auto text = [&](std::size_t i) { return in_one(letters_of(args.at(i), out, at), out, at); };
  if (name == "ichar") return number_of_letter(letter(text(0), lit(1), at));
  if (name == "len") {
    Exprs n;
    for (const Letters& l : letters_of(args[0], out, at)) n.push_back(l.length);
    return n.empty() ? lit(0) : index_add(n);
  }
  if (name == "len_trim") return found(text(0), {}, false, true, out, at);
  const bool back = args.size() > 2 && args[2].as<BoolLit>()->value;
  if (name == "index") return index_of(text(0), text(1), back, out, at);
  if (name == "scan" || name == "verify")
    return found(text(0), letters_of(args[1], out, at), name == "scan", back, out, at);
  const auto op = static_cast<CompareOp>(std::stoi(name));
  // Blanks at the end do not count.
  const auto without_trim = [](const Expr& e) {
    return called(e, kOfTexts) == "trim" ? e.as<Call>()->args[0] : e;
  };
  const Letters a = in_one(letters_of(without_trim(args[0]), out, at), out, at),
                b = in_one(letters_of(without_trim(args[1]), out, at), out, at);
  for (const Letters* l : {&a, &b})
    if (l->place && !axes_of(l->place, r_).empty()) cannot(at, "a comparison of an array of texts");
  if (op != CompareOp::Eq && op != CompareOp::Ne)
    return Expr(Compare{op, difference(a, b, out, at), lit(0)}, at);
  const Expr same = equal_texts(a, b, out, at);
  bool reduces = false;  // then it is computed once, not where each statement asks for it
  walk(same, [&](const Expr& e) {
    reduces = reduces || !called(e, kOfArray).empty();
    return !reduces;
  });
  const Expr once = reduces ? kept(prepared(same, true, out, at), "same", out, at) : same;
  return op == CompareOp::Eq ? once : negation(once);
}

// ---- Arguments.

/// What a call of `callee`, or of a routine elsewhere where that is null, gets for the argument
/// `dummy`. After the call, `after` gives its value back.
Expr Expansion::text_argument(const Expr& e, const Variable* dummy, Body& out, Body& after,
                              const Span& at) {
  const bool is_place = text_variable(e, r_) != nullptr;
  if (dummy && !dummy->text) {  // a letter, or an array of them
    if (dummy->array || !is_text(e, r_)) return e;
    if (const auto text = as_text(e)) {
      if (text->size() == 1) return e;
      return text_literal(text->empty() ? " " : text->substr(0, 1), at);
    }
    const Letters l = in_one(letters_of(e, out, at), out, at);
    const Expr first = letter(l, lit(1), at);
    return is_place ? first : letters({first}, at);
  }
  if (is_place) {
    const auto* l = e.as<Load>();
    if (!l || l->index[0].as<Slice>() || !dummy) return prepared(e, false, out, at);
    Load section = *l;  // of one letter
    section.index[0] = Expr(Slice{section.index[0], section.index[0], lit(1)}, at);
    return prepared(Expr(std::move(section), at), false, out, at);
  }
  if (!dummy && (as_text(e) || as_letters(e))) return e;
  if (!dummy && !is_text(e, r_)) return e;
  const bool writes = dummy && dummy->intent != Intent::In && (e.as<Var>() || e.as<Load>());
  const Letters made = in_memory(letters_of(e, out, at), out, at);
  if (writes) after.push_back({at, Assignment{e, letter(made, lit(1), at)}});
  return letters_as_array(made, made.length, out, at);
}

/// The call of a function with such arguments; other expressions as they are.
Expr Expansion::with_text_arguments(const Expr& function, Body& out, const Span& at) {
  const std::string name = called(function, kFunction) + called(function, kArrayFunction);
  if (name.empty()) return function;
  Call with = *function.as<Call>();
  Body after;
  text_arguments(name, with.args, out, after, at);
  if (!after.empty())
    cannot(at, fmt::format("a letter that `{}` may change as a text", bare_name(name)));
  return same_nodes(with.args, function.as<Call>()->args) ? function
                                                          : Expr(std::move(with), function.at());
}

/// Arguments that are texts, as `name` takes them.
void Expansion::text_arguments(const std::string& name, Exprs& arguments, Body& out, Body& after,
                               const Span& at) {
  const Routine* callee = find_routine(all_, name);
  std::vector<const Variable*> dummies;
  if (callee && callee->errors.empty()) dummies = dummies_of(*callee);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Variable* dummy = i < dummies.size() ? dummies[i] : nullptr;
    const bool text = is_text(arguments[i], r_) || text_variable(arguments[i], r_);
    if (text || (dummy && dummy->text && !is_absent(arguments[i])))
      arguments[i] = text_argument(arguments[i], dummy, out, after, at);
  }
}

}  // namespace moonloop::fortran
