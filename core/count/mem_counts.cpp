#include "core/count/mem_counts.h"

#include <map>
#include <set>

#include "core/count/count_set.h"
#include "core/count/strides.h"
#include "core/model/domain.h"
#include "core/order/address_spaces.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

/// Where variables are stored, and how their elements are laid out.
class Memory {
 public:
  explicit Memory(const Kernel& k) : k_(k), own_(k) {
    for (const auto& [iname, tag] : k.iname_tags) items_ |= tag.kind == TagKind::Local;
    for (const InsnPtr& i : k.instructions)
      for (const Expr& target : i->lhs) {
        for (const std::string& n : i->inames)
          if (is_work_item(k.tag(n))) by_item_.insert(written_name(target));
        std::set<std::string> names;
        collect_vars(target, names);
        for (const std::string& n : names)
          if (const InameTag* t = k.tag(n); t && t->kind == TagKind::Group)
            by_group_.insert(written_name(target));
      }
  }

  /// Empty for what is not in memory.
  std::string space(const std::string& name) const {
    if (const Argument* a = k_.find_arg(name)) return a->is_array ? "global" : "";
    const Temporary* t = k_.find_temporary(name);
    if (!t) return "";
    switch (t->space) {
      case AddressSpace::Global: return "global";
      case AddressSpace::Local: return "local";
      case AddressSpace::Private: return "";
      case AddressSpace::Auto:
        if (own_.per_item(name) && (by_item_.count(name) || !by_group_.count(name))) return "";
        return by_group_.count(name) ? "global" : items_ ? "local" : "";
    }
    throw InternalError("unknown address space");
  }

 private:
  const Kernel& k_;
  OwnCopies own_;
  bool items_ = false;
  // Temporaries that statements in work-items write, and those whose elements are chosen by group
  // numbers: code generation places them by these.
  std::set<std::string> by_item_, by_group_;
};

/// `{0: 1, 1: n}`: the strides along the axes of `kind`.
std::string strides_text(const Kernel& k, ProgramPoints& points, const Evaluation& e,
                         const MemoryAccess& access, const Exprs& axes, TagKind kind) {
  std::map<int, std::string> by_axis;
  std::set<std::string> used;
  for (const Expr& i : *access.index) collect_vars(i, used);
  for (const std::string& iname : points.inames(e.point)) {
    const InameTag* tag = k.tag(iname);
    if (!tag || tag->kind != kind || !used.count(iname)) continue;
    const Expr stride = stride_along(points, e.point, iname, access, axes);
    by_axis[tag->axis] = stride ? to_string(stride) : "?";
  }
  std::string out;
  for (const auto& [axis, stride] : by_axis)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", axis, stride);
  return "{" + out + "}";
}

/// Do all work-items along `l.0` meet at one element?
bool is_uniform(const std::string& lid_strides) {
  return !lid_strides.starts_with("{0: ") || lid_strides.starts_with("{0: 0");
}

}  // namespace

CountMap mem_counts(const Kernel& k, const CountOptions& options) {
  std::vector<std::string> fields{"mtype",         "dtype",       "lid_strides",
                                  "gid_strides",   "direction",   "variable",
                                  "variable_tags", "granularity", "kernel"};
  if (options.by_instruction) fields.emplace_back("instruction");
  CountMap out("accesses", std::move(fields));
  Evaluations all(k);
  const Kernel& done = all.kernel();
  const Memory memory(done);
  all.for_each([&](const Evaluation& e) {
    const auto access = access_of(e.expr);
    if (!access) return;
    const std::string space = memory.space(*access->name);
    if (space.empty()) return;
    const Exprs strides_of_axes = axis_strides(done, *access->name);
    const Type type = all.typer().type(e.expr)->type;
    const auto strides = [&](TagKind kind) {
      return strides_text(done, all.program_points(), e, *access, strides_of_axes, kind);
    };
    const std::string lid = strides(TagKind::Local), gid = strides(TagKind::Group);
    const auto per_subgroup = is_uniform(lid) ? options.subgroup_size : std::nullopt;
    const auto add = [&](const char* direction) {
      std::vector<std::string> key{space,
                                   type.str(),
                                   lid,
                                   gid,
                                   direction,
                                   *access->name,
                                   access->tag->str(),
                                   per_subgroup ? "subgroup" : "workitem",
                                   k.name};
      if (options.by_instruction) key.push_back(e.insn->id);
      out.add(std::move(key), all.instances(e, per_subgroup), type.size());
    };
    if (e.kind != Evaluation::Write) add("load");  // an update loads what it adds to
    if (e.kind == Evaluation::Write) add("store");
  });
  return out;
}

namespace {

Count size_of(const std::string& what, const Exprs& shape) {
  Count out(1);
  for (const Expr& extent : shape) {
    const auto f = to_affine(extent, {});
    if (!f)
      fail("count-too-hard", {}, "the extent `{}` of `{}` is not affine", to_string(extent), what);
    Set from_one = isl_pw_aff_nonneg_set(
        isl_pw_aff_add_constant_val(f->copy(), isl_val_int_from_si(isl(), -1)));
    PwQPolynomial n = isl_pw_qpolynomial_from_pw_aff(f->copy());
    n = isl_pw_qpolynomial_intersect_domain(n.take(), from_one.take());
    n = isl_pw_qpolynomial_project_domain_on_params(n.take());
    out = out * Count(std::move(n));
  }
  return out;
}

}  // namespace

std::vector<Touched> touched_elements(Evaluations& all, int most_accesses, bool computed) {
  struct Parts {
    Set elements, surely;  // null: none yet; `surely`: whatever the data
    int accesses = 0;
    bool all = false, doubtful = false;
  };
  const auto join = [](Set& to, Set s) {
    to = to ? Set(isl_set_union(to.take(), s.take())) : std::move(s);
  };
  const Memory memory(all.kernel());
  std::map<std::pair<std::string, bool>, Parts> parts;
  std::set<std::string> seen;  // what one access does, others do again
  all.for_each([&](const Evaluation& e) {
    const auto access = access_of(e.expr);
    if (!access || memory.space(*access->name) != "global") return;
    const bool write = e.kind == Evaluation::Write;
    if (!seen.insert(fmt::format("{} {} {} [{}]", write, *access->name, e.point,
                                 to_string(*access->index)))
             .second)
      return;
    if (!computed) all.require_known(e);
    Parts& p = parts[{*access->name, write}];
    bool affine = !access->linear || array_shape(all.kernel(), *access->name).size() == 1;
    for (const Expr& i : *access->index) affine = affine && all.program_points().affine(e.point, i);
    if (!affine || ++p.accesses > most_accesses) p.all = true;
    if (p.all) return;
    Map map = to_map(*access->index, all.program_points().inames(e.point))->take();
    Set image = isl_set_apply(all.points(e).copy(), map.take());
    image = isl_set_reset_tuple_id(image.take());
    if (all.program_points().exact(e.point))
      join(p.surely, image);
    else
      p.doubtful = true;
    join(p.elements, std::move(image));
  });
  std::vector<Touched> out;
  for (auto& [key, p] : parts) {
    const bool exact =
        !p.all &&
        (!p.doubtful || (p.surely && yes(isl_set_is_subset(p.elements.get(), p.surely.get()))));
    out.push_back({key.first, key.second, p.all ? Set() : std::move(p.elements), exact});
  }
  return out;
}

CountMap footprints(const Kernel& k) {
  Evaluations all(k);
  const Kernel& done = all.kernel();
  const Memory memory(done);
  constexpr int kMostAccesses = 1000;
  CountMap out("elements", {"variable", "direction", "dtype"});
  for (const Touched& t : touched_elements(all, kMostAccesses, false)) {
    const char* direction = t.write ? "write" : "read";
    const Argument* a = done.find_arg(t.variable);
    const Type type = a ? *a->type : *done.find_temporary(t.variable)->type;
    Count n;
    if (t.elements)
      n = Count(count_set(t.elements, fmt::format("the elements of `{}` that are {}", t.variable,
                                                  t.write ? "written" : "read")),
                t.exact);
    else
      n = size_of(t.variable, array_shape(done, t.variable)).as_bound();
    if (done.assumptions) n = n.under(done.assumptions);
    out.add({t.variable, direction, type.str()}, n, type.size());
  }
  return out;
}

}  // namespace moonloop
