#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_boxes.h"
#include "frontends/fortran/flang_walk.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"

// Assignments to allocatable arrays that have the shape already which these would give them.
namespace moonloop::fortran {
namespace {

/// The lengths of an array's axes, where they are those of arguments that stay as they are.
using Lengths = std::vector<Expr>;
using SymbolPath = std::vector<const sem::Symbol*>;

template <typename T>
bool is_of_inputs(const T& e) {
  for (const sem::Symbol& s : ev::CollectSymbols(e)) {
    const sem::Symbol& x = s.GetUltimate();
    if (!sem::IsDummy(x) || !(sem::IsIntentIn(x) || is_assumed_shape(x))) return false;
    if (!is_assumed_shape(x) && x.Rank() > 0) return false;
  }
  return true;
}

bool are_equal(const Lengths& a, const Lengths& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return to_string(x) == to_string(y); });
}

/// What `allocate` says of the arrays of a routine's own.
struct Allocations : TreeVisitor {
  explicit Allocations(const Span& at) : at_(at) {}

  void after(const TreeNode& n) override {
    n.when<fp::AllocateStmt>([&](const auto& x) { post(x); });
  }
  void post(const fp::AllocateStmt& s) {
    for (const fp::Allocation& a : std::get<std::list<fp::Allocation>>(s.t)) {
      const SymbolPath path = path_of(std::get<fp::AllocateObject>(a.t));
      if (path.empty() || sem::IsDummy(*path[0]) || is_outer(*path[0])) continue;
      const bool first = !known.contains(path);
      auto& to = known[path];
      to = first ? lengths_of(std::get<std::list<fp::AllocateShapeSpec>>(a.t)) : std::nullopt;
    }
  }

  std::map<SymbolPath, std::optional<Lengths>> known;  // nothing: more than one, or not these

 private:
  static SymbolPath path_of(const fp::AllocateObject& o) {
    SymbolPath out;
    if (const auto* n = std::get_if<fp::Name>(&o.u)) {
      if (n->symbol) out.push_back(&n->symbol->GetUltimate());
    } else if (const SomeExpr* e = sem::GetExpr(nullptr, o)) {
      for (const sem::Symbol& s : ev::GetSymbolVector(*e)) out.push_back(&s.GetUltimate());
    }
    return out;
  }

  std::optional<Lengths> lengths_of(const std::list<fp::AllocateShapeSpec>& shape) const {
    Lengths out;
    for (const fp::AllocateShapeSpec& spec : shape) {
      const auto& [lower, upper] = spec.t;
      const SomeExpr* first = lower ? sem::GetExpr(nullptr, *lower) : nullptr;
      const SomeExpr* last = sem::GetExpr(nullptr, upper);
      if (!last || !is_of_inputs(*last)) return std::nullopt;
      if (lower && (!first || ev::ToInt64(*first) != 1)) return std::nullopt;
      const Expr n = without_casts(to_expr(*last, at_));
      if (n.holds<Load>()) return std::nullopt;
      out.push_back(length(lit(1), n, 1));
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }

  const Span& at_;
};

/// Whether a value is computed element by element from an array of these lengths.
class ShapeFinder : public ev::AnyTraverse<ShapeFinder> {
 public:
  using Base = ev::AnyTraverse<ShapeFinder>;
  ShapeFinder(const Lengths& wanted, const Allocations& all, const Span& at)
      : Base(*this), wanted_(wanted), all_(all), at_(at) {}
  using Base::operator();

  template <typename T>
  bool operator()(const ev::Designator<T>& d) const {
    const auto place = ev::ExtractDataRef(d);
    if (!place || d.Rank() != static_cast<int>(wanted_.size())) return false;
    const auto own = lengths_of(*place);
    return own && are_equal(*own, wanted_);
  }
  bool operator()(const ev::ProcedureRef& f) const {
    return f.IsElemental() && (*this)(f.arguments());
  }
  template <typename T>
  bool operator()(const ev::ArrayConstructor<T>&) const {
    return false;
  }
  bool operator()(const ev::StructureConstructor&) const { return false; }
  bool operator()(const ev::DescriptorInquiry&) const { return false; }

 private:
  /// Of all of an array, whose axes begin at 1, or of a section with bounds.
  std::optional<Lengths> lengths_of(const ev::DataRef& place) const {
    if (const auto* a = std::get_if<ev::ArrayRef>(&place.u)) return lengths_of(*a);
    SymbolPath path;
    for (const sem::Symbol& s : ev::GetSymbolVector(place)) path.push_back(&s.GetUltimate());
    const sem::Symbol& last = *path.back();
    if (std::any_of(path.begin(), path.end() - 1, [](const auto* s) { return s->Rank() > 0; }))
      return std::nullopt;
    if (const auto it = all_.known.find(path); it != all_.known.end()) return it->second;
    const auto* object = last.detailsIf<sem::ObjectEntityDetails>();
    if (!object || sem::IsAllocatableOrPointer(last)) return std::nullopt;
    Lengths out;
    for (const sem::ShapeSpec& axis : object->shape()) {
      if (begins_at_one(last)) {
        const int number = static_cast<int>(out.size());
        out.push_back(length(lit(1), var(extent_name(last.name().ToString(), number)), 1));
        continue;
      }
      const auto &lower = axis.lbound().GetExplicit(), &upper = axis.ubound().GetExplicit();
      if (!lower || !upper || ev::ToInt64(*lower) != 1 || !is_of_inputs(*upper))
        return std::nullopt;
      out.push_back(length(lit(1), without_casts(to_index(*upper, at_)), 1));
    }
    return out;
  }

  std::optional<Lengths> lengths_of(const ev::ArrayRef& a) const {
    Lengths out;
    for (const ev::Subscript& s : a.subscript()) {
      if (s.Rank() == 0) continue;
      const auto* t = std::get_if<ev::Triplet>(&s.u);
      if (!t || ev::ToInt64(t->stride()) != 1) return std::nullopt;
      const auto lower = t->lower(), upper = t->upper();
      if (!lower || !upper || !is_of_inputs(*lower) || !is_of_inputs(*upper)) return std::nullopt;
      const Expr from = without_casts(to_index(*lower, at_)),
                 to = without_casts(to_index(*upper, at_));
      if (from.holds<Load>() || to.holds<Load>()) return std::nullopt;
      out.push_back(length(from, to, 1));
    }
    return out;
  }

  const Lengths& wanted_;
  const Allocations& all_;
  const Span& at_;
};

struct SameShapes : TreeVisitor {
  SameShapes(const Allocations& a, const Span& at) : all(a), at_(at) {}

  void after(const TreeNode& n) override {
    n.when<fp::AssignmentStmt>([&](const auto& x) { post(x); });
  }
  void post(const fp::AssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    const sem::Symbol* whole = a ? whole_allocatable(a->lhs) : nullptr;
    const auto type = whole ? a->lhs.GetType() : std::nullopt;
    if (!type || type->category() == TypeCategory::Character ||
        type->category() == TypeCategory::Derived)
      return;
    SymbolPath path;
    for (const sem::Symbol& x : ev::GetSymbolVector(a->lhs)) path.push_back(&x.GetUltimate());
    const auto it = all.known.find(path);
    if (it == all.known.end() || !it->second) return;
    try {
      if (ShapeFinder(*it->second, all, at_)(a->rhs)) found.insert(a);
    } catch (const Error&) {}  // a bound that is not supported
  }

  const Allocations& all;
  std::set<const ev::Assignment*> found;

 private:
  const Span& at_;
};

}  // namespace

std::set<const ev::Assignment*> assignments_of_same_shape(const fp::Block& block, const Span& at) {
  Allocations all(at);
  try {
    walk(block, all);
  } catch (const Error&) { return {}; }  // where it is read, this is an error as well
  SameShapes finder(all, at);
  walk(block, finder);
  return std::move(finder.found);
}

}  // namespace moonloop::fortran
