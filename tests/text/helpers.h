#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/model/kernel.h"
#include "core/model/print.h"
#include "tests/one_kernel.h"

namespace moonloop::testing {

inline std::vector<Kernel> parse_all(const std::string& text) {
  return parse_kernels(add_source("t.loop", text));
}
/// A kernel over `i` and `j` below `n` with these lines in it.
inline Kernel body(const std::string& lines) {
  return parsed("kernel k\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n" + lines);
}

/// "line:col code: message" of each error of `text`, one a line.
inline std::string errors(const std::string& text) {
  try {
    parse_all(text);
  } catch (const Error& e) {
    std::string out;
    for (const Diagnostic& d : e.diagnostics()) {
      if (!out.empty()) out += "\n";
      if (d.where.at) out += fmt::format("{}:{} ", d.where.at.line, d.where.at.col);
      out += d.code + ": " + d.text;
      if (!d.hint.empty()) out += "; " + d.hint;
    }
    return out;
  }
  return "no error";
}
/// The same of one line in the kernel of `body`: "col code: message".
inline std::string line_errors(const std::string& line) {
  const std::string all =
      errors("kernel k\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n" + line);
  return all.starts_with("4:") ? all.substr(2) : all;
}

inline const Instruction& insn(const Kernel& k, const std::string& id) {
  const Instruction* i = k.find_insn(id);
  REQUIRE_MESSAGE(i != nullptr, "no instruction " << id);
  return *i;
}
inline std::string text_of(const Instruction& i) {
  return to_string(i.lhs) + (i.lhs.empty() ? "" : " = ") + (i.rhs ? to_string(i.rhs) : "");
}
template <class List>
std::string joined(const List& list) {
  return fmt::format("{}", fmt::join(list, " "));
}
inline std::string predicates(const Instruction& i) {
  std::string out;
  for (const Expr& p : i.predicates) out += (out.empty() ? "" : " & ") + to_string(p);
  return out;
}

inline bool same_exprs(const std::optional<Exprs>& a, const std::optional<Exprs>& b) {
  return a.has_value() == b.has_value() && (!a || equal(*a, *b));
}
inline bool same_set(const Set& a, const Set& b) {
  const auto trivial = [](const Set& s) { return !s || yes(isl_set_plain_is_universe(s.get())); };
  if (trivial(a) || trivial(b)) return trivial(a) && trivial(b);
  return yes(isl_set_is_equal(a.get(), b.get()));
}

/// Checks that two kernels are the same in all that kernel text can say.
inline void check_same(const Kernel& a, const Kernel& b) {
  CHECK(a.name == b.name);
  CHECK(a.index_type == b.index_type);
  REQUIRE(a.args.size() == b.args.size());
  for (std::size_t n = 0; n < a.args.size(); ++n) {
    const Argument &x = a.args[n], &y = b.args[n];
    CAPTURE(x.name);
    CHECK(x.name == y.name);
    CHECK(x.type == y.type);
    CHECK(x.is_array == y.is_array);
    CHECK(x.constant == y.constant);
    CHECK(same_exprs(x.shape, y.shape));
    CHECK(x.order == y.order);
    CHECK(same_exprs(x.strides, y.strides));
    CHECK(equal(x.offset, y.offset));
    CHECK(x.intent == y.intent);
  }
  REQUIRE(a.temporaries.size() == b.temporaries.size());
  for (const auto& row : a.temporaries) {
    const auto& [name, x] = row;
    CAPTURE(row.first);
    const Temporary* y = b.find_temporary(name);
    REQUIRE(y);
    CHECK(x.type == y->type);
    CHECK(same_exprs(x.shape, y->shape));
    CHECK(x.space == y->space);
    CHECK(x.order == y->order);
    CHECK(x.read_only == y->read_only);
    CHECK(x.base_storage == y->base_storage);
    REQUIRE((x.initializer != nullptr) == (y->initializer != nullptr));
    if (x.initializer) CHECK(equal(*x.initializer, *y->initializer));
  }
  REQUIRE(a.rules.size() == b.rules.size());
  for (std::size_t n = 0; n < a.rules.size(); ++n) {
    CHECK(a.rules[n].name == b.rules[n].name);
    CHECK(a.rules[n].params == b.rules[n].params);
    CHECK(equal(a.rules[n].body, b.rules[n].body));
  }
  REQUIRE(a.domains.size() == b.domains.size());
  for (std::size_t n = 0; n < a.domains.size(); ++n) {
    CHECK(a.domains[n].inames() == b.domains[n].inames());
    CHECK(same_set(a.domains[n].set, b.domains[n].set));
  }
  CHECK(same_set(a.assumptions, b.assumptions));
  CHECK(a.iname_tags == b.iname_tags);
  CHECK(a.loop_order == b.loop_order);
  CHECK(a.priorities == b.priorities);
  CHECK(a.slabs == b.slabs);
  REQUIRE(a.records.size() == b.records.size());
  REQUIRE(a.instructions.size() == b.instructions.size());
  for (std::size_t n = 0; n < a.instructions.size(); ++n) {
    const Instruction &x = *a.instructions[n], &y = *b.instructions[n];
    CAPTURE(x.id);
    CHECK(x.id == y.id);
    CHECK(x.kind == y.kind);
    CHECK(equal(x.lhs, y.lhs));
    CHECK(equal(x.rhs, y.rhs));
    CHECK(x.inames == y.inames);
    CHECK(equal(x.predicates, y.predicates));
    CHECK(x.tags == y.tags);
    CHECK(std::set<std::string>(x.depends_on.begin(), x.depends_on.end()) ==
          std::set<std::string>(y.depends_on.begin(), y.depends_on.end()));
    CHECK(x.no_sync == y.no_sync);
    CHECK(x.priority == y.priority);
    CHECK(x.groups == y.groups);
    CHECK(x.conflicts == y.conflicts);
    CHECK(x.atomic == y.atomic);
    CHECK(x.barrier == y.barrier);
    CHECK(x.mem_kind == y.mem_kind);
  }
}

/// Checks that the kernel's text parses back to it, and prints to the same text again.
inline void check_round_trip(const Kernel& k) {
  const std::string text = print_kernel(k);
  CAPTURE(text);
  const std::vector<Kernel> all = parse_all(text);
  REQUIRE(all.size() == 1 + k.callees.size());  // those that it calls follow
  const Kernel& back = all.front();
  check_same(k, back);
  CHECK(print_kernel(back) == text);
}

}  // namespace moonloop::testing
