#include "cli/warnings.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "codegen/language.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/sets/affine_constraints.h"
#include "transforms/registry.h"

namespace moonloop::cli {

namespace {

/// A loop that may be split over groups and work-items: the first proved one of those around most
/// statements. Empty where none of them is.
std::string loop_to_tag(const Kernel& k) {
  std::map<std::string, int> statements;
  for (const InsnPtr& i : k.instructions)
    for (const std::string& n : i->inames) ++statements[n];
  std::vector<std::pair<int, std::string>> most;
  for (const auto& [n, times] : statements) most.emplace_back(-times, n);
  std::sort(most.begin(), most.end());
  constexpr std::size_t kMostTries = 4;  // each is a proof
  for (std::size_t i = 0; i < std::min(most.size(), kMostTries); ++i) try {
      run_op(*find_op("split_iname"), k, {Value{most[i].second}, Value{std::int64_t{128}}},
             {{"outer_tag", Value{std::string("g.0")}}, {"inner_tag", Value{std::string("l.0")}}},
             {});
      return most[i].second;
    } catch (const Error&) {}  // not that one
  return {};
}

}  // namespace

void warn_of_single_work_item(const Common& c, const Kernel& k, Target target) {
  if (!is_device(target)) return;
  for (const auto& [iname, tag] : k.iname_tags)
    if (run_of(tag.kind) == TagRun::Groups || is_work_item(&tag)) return;
  if (std::all_of(k.instructions.begin(), k.instructions.end(),
                  [](const InsnPtr& i) { return i->inames.empty(); }))
    return;
  const std::string loop = loop_to_tag(k);
  warn(c,
       {"single-work-item",
        fmt::format("no loop of kernel `{}` is tagged `g.N` or `l.N`, so that one work-item runs "
                    "all of it on {}",
                    k.name, to_string(target)),
        {k.at, {}},
        {},
        loop.empty()
            ? "tag a loop whose iterations may run at the same time"
            : fmt::format("tag a parallel loop, such as `{0} = lp.split_iname({0}, \"{1}\", "
                          "128, {{outer_tag = \"g.0\", inner_tag = \"l.0\"}})`",
                          lua_global(k.name), loop)});
}

void warn_of_unused_tags(const Common& c, const Kernel& k, Target target) {
  if (!is_device(target)) return;
  for (const auto& [iname, tag] : k.iname_tags)
    if (tag.kind == TagKind::Simd)
      warn(c, {"unused-tag",
               fmt::format("`{}` is tagged `{}`; {} runs this loop in order", iname, tag.text,
                           to_string(target)),
               {tag.at ? tag.at : k.at, {}},
               {},
               "there `vec` makes vectors, and `g.N` and `l.N` are parallel"});
}

void warn_of_no_instructions(const Common& c, const Kernel& k) {
  if (!k.instructions.empty() || !k.domains.empty()) return;
  warn(c, {"no-instructions",
           fmt::format("kernel `{}` has no instructions; it does nothing", k.name),
           {k.at, {}},
           {},
           {}});
}

void warn_of_unused_inames(const Common& c, const Kernel& k) {
  std::set<std::string> used;
  const auto look = [&](const Expr& e) {
    walk(e, [&](const Expr& x) {
      if (const auto* r = x.as<Reduce>()) used.insert(r->inames.begin(), r->inames.end());
      if (const auto* s = x.as<SubArray>()) used.insert(s->inames.begin(), s->inames.end());
      return true;
    });
  };
  for (const InsnPtr& i : k.instructions) {
    used.insert(i->inames.begin(), i->inames.end());
    if (i->rhs) look(i->rhs);
    for (const Expr& e : i->lhs) look(e);
    for (const Expr& e : i->predicates) look(e);
  }
  for (const auto& rule : k.rules) look(rule.body);
  for (const Domain& d : k.domains)  // bounds of other loops
    for (const std::string& p : d.params()) used.insert(p);
  for (const Domain& d : k.domains)
    for (const std::string& iname : d.inames())
      if (!used.count(iname))
        warn(c,
             {"unused-iname",
              fmt::format("no instruction of kernel `{}` runs in loop `{}`, which is left out",
                          k.name, iname),
              {d.at ? d.at : k.at, {}},
              {},
              fmt::format("write the instructions between `for {0}` and `end`, or take `{0}` out "
                          "of the domain",
                          iname)});
}

void warn_of_empty_loops(const Common& c, const Kernel& k) {
  for (const Domain& d : k.domains) {
    const std::vector<std::string> inames = d.inames();
    if (!is_empty(domain_of(k, inames))) continue;
    const bool alone = is_empty(d.set);
    warn(c,
         {"empty-loop",
          fmt::format("{} `{}` of kernel `{}` never run{}: {} domain is empty{}",
                      inames.size() == 1 ? "the loop" : "the loops", fmt::join(inames, "`, `"),
                      k.name, inames.size() == 1 ? "s" : "", inames.size() == 1 ? "its" : "their",
                      alone ? "" : " under the assumptions and the domains around it"),
          {d.at ? d.at : k.at, {}},
          {},
          {}});
  }
}

void warn_of_unread_settings(const Common& c, const std::vector<std::string>& read) {
  for (const auto& [name, value] : c.settings) {
    if (std::find(read.begin(), read.end(), name) != read.end()) continue;
    const auto lower = [](std::string s) {
      std::transform(s.begin(), s.end(), s.begin(),
                     [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
      return s;
    };
    std::string meant = did_you_mean(name, read);
    for (const std::string& r : read)  // short names are near each other only in this way
      if (meant.empty() && lower(r) == lower(name)) meant = fmt::format("; did you mean `{}`?", r);
    warn(c, {"unread-setting",
             fmt::format("no script reads `lp.args.{}`, which `--set {}={}` gives{}{}", name, name,
                         value, read.empty() ? "" : "; they read " + quoted_list(read), meant),
             {},
             {},
             {}});
  }
}

namespace {

/// A real literal whose size depends on its context and that float32 does not hold.
bool widens(const Expr& e) {
  const auto* f = e.as<FloatLit>();
  const auto* z = e.as<ComplexLit>();
  return (f && !f->type && !exact_single(f->value)) ||
         (z && !z->type && !(exact_single(z->re) && exact_single(z->im)));
}

/// `e` as it would be if float32 held all literals.
Expr with_short_literals(const Expr& e) {
  return rewrite(e, [](const Expr& x) {
    if (!widens(x)) return x;
    return x.as<FloatLit>() ? Expr(FloatLit{0.5, {}}, x.at()) : Expr(ComplexLit{0, 1, {}}, x.at());
  });
}

}  // namespace

void warn_of_widening_literals(const Common& c, const Kernel& k) {
  const auto untyped = [&](const std::string& name) {
    const Temporary* t = k.find_temporary(name);
    return t && !t->type && !t->initializer;
  };
  Kernel narrow = k;
  bool any = false;
  const auto look = [&](const Expr& e) {
    walk(e, [&](const Expr& x) {
      any = any || widens(x);
      return !any;
    });
  };
  for (const Rule& r : k.rules) look(r.body);
  for (const InsnPtr& i : k.instructions)
    if (i->rhs) look(i->rhs);
  any = any && std::any_of(k.temporaries.begin(), k.temporaries.end(),
                           [&](const auto& t) { return untyped(t.first); });
  if (!any) return;
  for (Rule& r : narrow.rules) r.body = with_short_literals(r.body);
  for (InsnPtr& i : narrow.instructions)
    if (i->rhs) i = edit(i, [](Instruction& x) { x.rhs = with_short_literals(x.rhs); });
  Kernel wide;
  try {
    wide = infer_types(k);
    narrow = infer_types(std::move(narrow));
  } catch (const Error&) {  // reported where the types are needed
    return;
  }
  std::set<std::string> told;
  for (const InsnPtr& i : wide.instructions) {
    if (i->lhs.size() != 1 || !i->rhs) continue;
    const std::string& name = written_name(i->lhs[0]);
    if (!untyped(name) || told.contains(name)) continue;
    const Type& has = *wide.find_temporary(name)->type;
    const Type& would = *narrow.find_temporary(name)->type;
    if (has == would) continue;
    Expr literal;
    bool single = false;  // it meets values of single precision
    const Typer typer(wide);
    walk(expand_rules(wide, i->rhs), [&](const Expr& x) {
      if (!literal && widens(x)) literal = x;
      if (x.as<Var>() || x.as<Load>() || x.as<Field>()) {
        const auto t = typer.type(x);
        single =
            single || (t && !t->type.is_record() &&
                       (real_part(t->type.scalar) == Scalar::F32 || t->type.scalar == Scalar::F16));
        return false;
      }
      return true;
    });
    if (!literal || !single) continue;
    told.insert(name);
    const std::string text = to_string(literal);
    warn(c, {"widening-literal",
             fmt::format("`{}` makes the temporary `{}` {}: {} would not hold it exactly", text,
                         name, has.str(), would.str()),
             {literal.at() ? literal.at() : i->at, {}},
             {},
             literal.as<FloatLit>()
                 ? fmt::format("say which is meant: `{0}f` or `{0}d`, or the type of `{1}`, as in "
                               "`<{2}> {1} = …`",
                               text, name, would.str())
                 : fmt::format("say the type of `{0}`, as in `<{1}> {0} = …`", name, would.str())});
  }
}

}  // namespace moonloop::cli
