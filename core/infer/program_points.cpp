#include "core/infer/program_points.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/memo.h"

namespace moonloop {

std::set<std::string> claimed_in_bounds(const Kernel& k) {
  std::set<std::string> out;
  for (const Claim& c : k.claims)
    if (c.kind == Claim::Kind::InBounds) out.insert(c.names.begin(), c.names.end());
  return out;
}

ProgramPoints::Frame ProgramPoints::Frame::under(const Expr& condition, bool holds) const {
  Frame f{inames, conditions, -1};
  f.add(condition, holds);
  return f;
}
void ProgramPoints::Frame::add(const Expr& c, bool holds) {
  if (const auto* u = c.as<Unary>(); u && u->op == UnaryOp::Not) return add(u->arg, !holds);
  if (const auto* n = c.as<Nary>(); n && n->op == (holds ? NaryOp::And : NaryOp::Or)) {
    for (const Expr& t : n->terms) add(t, holds);
    return;
  }
  conditions.push_back(holds ? c : negation(c));
}

int ProgramPoints::number(Frame& f) {
  if (f.number >= 0) return f.number;
  std::string key;
  for (const std::string& i : f.inames) key += i, key += ',';
  for (const Expr& c : f.conditions) key += '|', key += to_string(c);
  const auto [it, fresh] = by_key_.emplace(std::move(key), static_cast<int>(points_.size()));
  if (fresh) points_.push_back({f.inames, f.conditions, {}, true});
  return f.number = it->second;
}

void ProgramPoints::visit_expr(const Expr& e, Frame& f,
                               const std::function<void(const Use&)>& visit) {
  const auto children = [&] { for_each_child(e, [&](const Expr& c) { visit_expr(c, f, visit); }); };
  e.visit(overload{
      [](const IntLit&) {}, [](const FloatLit&) {}, [](const ComplexLit&) {}, [](const BoolLit&) {},
      [&](const Var& x) { visit({insn_, &e, &x.name, nullptr, false, false, number(f)}); },
      [&](const Load& x) {
        visit({insn_, &e, &x.array, &x.index, x.linear, false, number(f)});
        children();
      },
      [&](const Field&) { children(); }, [&](const Unary&) { children(); },
      [&](const Binary&) { children(); },
      [&](const Nary& x) {
        if (x.op != NaryOp::And && x.op != NaryOp::Or) return children();
        Frame rest = f;  // each term is looked at only when those before did not decide
        for (const Expr& t : x.terms) {
          visit_expr(t, rest, visit);
          rest = rest.under(t, x.op == NaryOp::And);
        }
      },
      [&](const Compare&) { children(); },
      [&](const Select& x) {
        visit_expr(x.cond, f, visit);
        Frame yes = f.under(x.cond, true), no = f.under(x.cond, false);
        visit_expr(x.yes, yes, visit);
        visit_expr(x.no, no, visit);
      },
      [&](const Call& x) {
        if (const Exprs* a = as_address(e)) {
          visit({insn_, &e, &(*a)[0].as<Var>()->name, nullptr, false, false, number(f), true});
          for (std::size_t i = 1; i < a->size(); ++i) visit_expr((*a)[i], f, visit);
          return;
        }
        if (x.name != "if" || x.args.size() != 3) return children();
        visit_expr(x.args[0], f, visit);
        Frame yes = f.under(x.args[0], true), no = f.under(x.args[0], false);
        visit_expr(x.args[1], yes, visit);
        visit_expr(x.args[2], no, visit);
      },
      [&](const Reduce& x) {
        Frame inside{f.inames, f.conditions, -1};
        for (const std::string& i : x.inames)
          if (std::find(inside.inames.begin(), inside.inames.end(), i) == inside.inames.end())
            inside.inames.push_back(i);
        for (const Expr& a : x.args) visit_expr(a, inside, visit);
      },
      [&](const Cast&) { children(); }, [&](const Slice&) { children(); },
      [&](const SubArray& x) {
        Frame inside{f.inames, f.conditions, -1};
        inside.inames.insert(inside.inames.end(), x.inames.begin(), x.inames.end());
        visit_expr(x.load, inside, visit);
      }});
}

void ProgramPoints::for_each_use(const std::function<void(const Use&)>& visit) {
  for (const InsnPtr& i : k_.instructions) {
    insn_ = i.get();
    Frame frame{{i->inames.begin(), i->inames.end()}, {}, -1};
    for (const Expr& p : i->predicates) {
      visit_expr(p, frame, visit);
      frame = frame.under(p, true);
    }
    if (i->rhs) visit_expr(i->rhs, frame, visit);
    for (const Expr& l : i->lhs) {
      const Expr* target = &l;
      while (const auto* field = target->as<Field>()) target = &field->base;
      if (const auto* v = target->as<Var>()) {
        visit({insn_, target, &v->name, nullptr, false, true, number(frame),
               is_passed_to(k_, *i, v->name)});
      } else if (const auto* x = target->as<Load>()) {
        visit({insn_, target, &x->array, &x->index, x->linear, true, number(frame)});
        for (const Expr& s : x->index) visit_expr(s, frame, visit);
      } else {
        visit_expr(*target, frame, visit);
      }
    }
  }
}

bool ProgramPoints::static_integers(const Expr& e) {
  std::set<std::string> names;
  collect_reads(e, names);
  return std::all_of(names.begin(), names.end(), [&](const std::string& n) {
    const auto [it, fresh] = static_.emplace(n, true);
    if (fresh) {
      const Argument* a = k_.find_arg(n);
      const bool other =
          a &&
          (a->is_array || (a->type && !(!a->type->is_record() && is_integer(a->type->scalar))));
      it->second = !other && !k_.find_temporary(n);
    }
    return it->second;
  });
}

const Set& ProgramPoints::instances(int point) {
  ProgramPoint& p = points_[point];
  if (p.set) return p.set;
  std::string key;
  for (const std::string& i : p.inames) key += i, key += ',';
  const auto it = domains_.find(key);
  p.set = it != domains_.end() ? it->second
                               : domains_.emplace(key, domain_of(k_, p.inames)).first->second;
  for (const Expr& c : p.conditions) {
    auto holds = static_integers(c) ? to_condition(c, p.inames) : std::nullopt;
    if (holds) {
      const std::string both = "points " + memo().name(p.set) + memo().name(*holds);
      p.set =
          memo().made(both, [&] { return Set(isl_set_intersect(p.set.copy(), holds->copy())); });
    } else {
      p.exact = false;
    }
  }
  return p.set;
}

bool ProgramPoints::exact(int point) {
  instances(point);
  return points_[point].exact;
}

std::optional<PwAff> ProgramPoints::affine(int point, const Expr& e) {
  if (!static_integers(e)) return std::nullopt;
  return to_affine(e, points_[point].inames);
}

std::optional<ProgramPoints::JoinedPoints> ProgramPoints::joined(int point, const Exprs& exprs) {
  const ProgramPoint& p = points_[point];
  Exprs all = exprs;
  if (!std::all_of(all.begin(), all.end(), [&](const Expr& e) { return static_integers(e); }))
    return std::nullopt;
  std::copy_if(p.conditions.begin(), p.conditions.end(), std::back_inserter(all),
               [&](const Expr& c) { return static_integers(c); });
  std::optional<Joined> found = loops_.join(p.inames, all);
  if (!found) return std::nullopt;
  JoinedPoints out{std::move(*found), all.size() == exprs.size() + p.conditions.size()};
  for (std::size_t c = exprs.size(); c < all.size(); ++c) {
    const auto holds = to_condition(out.exprs[c], out.inames);
    out.exact = out.exact && holds;
    if (holds) out.instances = isl_set_intersect(out.instances.take(), holds->copy());
  }
  out.exprs.resize(exprs.size());
  return out;
}

std::vector<std::string> ProgramPoints::temporaries_in(const Set& s) const {
  std::vector<std::string> out;
  const std::vector<std::string> names = param_names(s);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (k_.find_temporary(names[i]) &&
        yes(isl_set_involves_dims(s.get(), isl_dim_param, static_cast<unsigned>(i), 1)))
      out.push_back(names[i]);
  return out;
}

void check_rank(const Use& u, std::size_t axes) {
  const std::size_t rank = u.index ? u.index->size() : 0;
  if (u.linear || rank == axes) return;
  fail("rank-mismatch", u.expr->at() ? u.expr->at() : u.insn->at,
       "`{}` has {} subscript{}, but `{}` has {} ax{}s", to_string(*u.expr), rank,
       rank == 1 ? "" : "s", *u.name, axes, axes == 1 ? "i" : "e");
}

}  // namespace moonloop
