#include "frontends/fortran/flang_boxes.h"

#include <algorithm>
#include <functional>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/flang_walk.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// The module that has a derived type; null where a routine declares it, and for those of Flang's
/// own, such as `c_ptr`.
const sem::Symbol* module_of_type(const ev::DynamicType& type) {
  const sem::Symbol& s = type.GetDerivedTypeSpec().typeSymbol().GetUltimate();
  return s.owner().IsModule() && !holder_of(s).empty() ? s.owner().symbol() : nullptr;
}

bool is_derived(const ev::DynamicType& type) {
  return type.category() == TypeCategory::Derived && !type.IsUnlimitedPolymorphic();
}

const sem::DerivedTypeSpec* record_type(const std::optional<ev::DynamicType>& type) {
  return type && is_derived(*type) ? &type->GetDerivedTypeSpec() : nullptr;
}

/// Whether a record, or one in it, has a component that gets memory of its own.
bool has_allocatable_parts(const std::optional<ev::DynamicType>& type) {
  const sem::DerivedTypeSpec* own = record_type(type);
  if (!own) return false;
  sem::DirectComponentIterator all(*own);
  return std::any_of(all.begin(), all.end(),
                     [](const sem::Symbol& part) { return sem::IsAllocatable(part); });
}

/// The allocatable arrays, and the records with such components, to which statements give memory
/// more than once, or in several ways, or which they use as a whole in ways that C cannot follow.
struct MemoryFinder : TreeVisitor {
  MemoryFinder(const ProcedureEffects& p, std::set<const ev::Assignment*> same)
      : procedures(p), same_shape(std::move(same)) {}

  bool before(const TreeNode& n) override {
    bool inside = true;
    n.when<fp::WhereStmt, fp::WhereConstruct, fp::Selector, fp::AllocateStmt>(
        [&](const auto& x) { inside = pre(x); });
    return inside;
  }
  void after(const TreeNode& n) override {
    n.when<fp::AllocateStmt, fp::DeallocateStmt, fp::WhereStmt, fp::WhereConstruct,
           fp::AssignmentStmt, fp::PointerAssignmentStmt, fp::CallStmt, fp::Expr>(
        [&](const auto& x) { post(x); });
  }

  bool pre(const fp::AllocateStmt&) {
    named_.emplace();
    return true;
  }
  void post(const fp::AllocateStmt& s) {
    const auto& all = std::get<std::list<fp::Allocation>>(s.t);
    std::vector<Path> objects;
    for (const fp::Allocation& a : all)
      if (Path o = path_of(std::get<fp::AllocateObject>(a.t)); !o.empty())
        objects.push_back(std::move(o));
    const bool beside =
        objects.size() != all.size() ||
        std::any_of(objects.begin(), objects.end(), [](const Path& o) { return is_outer(*o[0]); });
    for (const Path& o : objects)
      if (beside || sem::IsDummy(*o[0]) || !once.insert(o).second) found.insert(o[0]);
    for (const Path& o : objects) sizes[o[0]].insert(named_->begin(), named_->end());
    named_.reset();
    add_together(objects);
  }
  void post(const fp::DeallocateStmt& s) {
    std::vector<Path> objects;
    for (const fp::AllocateObject& o : std::get<std::list<fp::AllocateObject>>(s.t))
      if (Path path = path_of(o); !path.empty()) objects.push_back(std::move(path));
    for (const Path& o : objects)
      if (sem::IsDummy(*o[0])) found.insert(o[0]);
    add_together(objects);
  }
  /// What a name stands for is no use of it by itself.
  static bool pre(const fp::Selector& s) {
    const auto* e = std::get_if<fp::Expr>(&s.u);
    const SomeExpr* typed = e ? sem::GetExpr(nullptr, *e) : nullptr;
    return typed && !ev::IsVariable(*typed);
  }
  bool pre(const fp::WhereStmt&) { return ++masked > 0; }
  void post(const fp::WhereStmt&) { --masked; }
  bool pre(const fp::WhereConstruct&) { return ++masked > 0; }
  void post(const fp::WhereConstruct&) { --masked; }
  void post(const fp::AssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    const sem::Symbol* base = a ? base_of(a->lhs) : nullptr;
    if (!base) return;
    const bool keeps = masked > 0 || same_shape.contains(a);
    const sem::Symbol* whole = keeps ? nullptr : whole_allocatable(a->lhs);
    if ((whole && a->rhs.Rank() > 0 && !keeps_shape(a->lhs, a->rhs)) ||
        has_allocatable_parts(a->lhs.GetType()))
      found.insert(base);
  }
  /// Where a pointer of a module is to point at what one of the routine's own does.
  void post(const fp::PointerAssignmentStmt& s) {
    const ev::Assignment* a = sem::GetAssignment(s);
    const sem::Symbol* to = a ? ev::GetFirstSymbol(a->lhs) : nullptr;
    const sem::Symbol* from = a ? ev::UnwrapWholeSymbolDataRef(a->rhs) : nullptr;
    if (to && from && is_outer(*to) && sem::IsPointer(from->GetUltimate()) && !is_outer(*from))
      found.insert(&from->GetUltimate());
  }
  void post(const fp::CallStmt& s) {
    if (s.typedCall) call(*s.typedCall);
  }
  void post(const fp::Expr& e) {
    const SomeExpr* typed = sem::GetExpr(nullptr, e);
    if (!typed) return;
    if (named_)
      if (const sem::Symbol* base = base_of(*typed)) named_->insert(base);
    function(*typed);
    if (ev::IsVariable(*typed) && has_allocatable_parts(typed->GetType()))
      if (const sem::Symbol* base = base_of(*typed)) ++uses[base];
  }

  /// Adds the records that are used as a whole but by calls that take them component by component.
  void settle_uses() {
    for (const auto& [base, number] : uses)
      if (const auto it = passed.find(base); it == passed.end() || it->second < number)
        found.insert(base);
  }

  /// Where Fortran keeps one of those that a statement gives memory, or what says how much, it
  /// keeps them all.
  void spread(const Routine& routine) {
    const auto kept = [&](const sem::Symbol* s) {
      return found.contains(s) || routine.unreadable.contains(variable_name(*s));
    };
    for (bool more = true; more;) {
      more = false;
      for (const auto& objects : together)
        if (std::any_of(objects.begin(), objects.end(), kept))
          for (const sem::Symbol* o : objects) more = found.insert(o).second || more;
      for (const auto& [object, by] : sizes)
        if (std::any_of(by.begin(), by.end(), kept)) more = found.insert(object).second || more;
    }
  }

  using Path = std::vector<const sem::Symbol*>;  // of a variable and its components
  std::set<Path> once;
  std::set<const sem::Symbol*> found;
  std::map<const sem::Symbol*, int> uses, passed;  // of records, as a whole or of a part
  std::vector<std::vector<const sem::Symbol*>> together;
  std::map<const sem::Symbol*, std::set<const sem::Symbol*>> sizes;  // what `allocate` reads
  int masked = 0;  // constructs with masks around, where arrays keep their shapes

 private:
  void call(const ev::ProcedureRef& ref) {
    const sem::Symbol* callee = ref.proc().GetSymbol();
    const ev::SpecificIntrinsic* intrinsic = ref.proc().GetSpecificIntrinsic();
    const auto* details =
        callee ? callee->GetUltimate().detailsIf<sem::SubprogramDetails>() : nullptr;
    const bool by_type = callee && callee->has<sem::ProcBindingDetails>();
    if (const auto* c = ref.proc().GetComponent(); c && by_type)
      found.insert(&c->GetFirstSymbol().GetUltimate());
    std::size_t number = 0;
    for (const auto& a : ref.arguments()) {
      const std::size_t n = number++;
      const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
      const sem::Symbol* base = value ? base_of(*value) : nullptr;
      if (!base) continue;
      if (by_type && a->isPassedObject()) found.insert(base);
      const sem::Symbol* dummy =
          details && n < details->dummyArgs().size() ? details->dummyArgs()[n] : nullptr;
      const bool keeps = dummy && !procedures.may_move_dummies(*callee);
      if (has_allocatable_parts(value->GetType())) {
        if (keeps && !sem::IsAllocatableOrPointer(*dummy) && value->Rank() == 0) ++passed[base];
        if (dummy && !keeps) found.insert(base);
        continue;
      }
      const sem::Symbol* whole = ev::UnwrapWholeSymbolOrComponentDataRef(*value);
      if (!whole || !sem::IsAllocatable(whole->GetUltimate())) continue;
      const bool asked = intrinsic && intrinsic->name == "allocated" &&
                         &whole->GetUltimate() == base && sem::IsDummy(*base);
      if (asked || (intrinsic && intrinsic->name == "move_alloc") ||
          (dummy && sem::IsAllocatable(*dummy) && !keeps))
        found.insert(base);
    }
  }

  /// The variable that is a place, or of which it is a part.
  static const sem::Symbol* base_of(const SomeExpr& e) {
    const auto place = ev::ExtractDataRef(e, true, true);
    return place ? &place->GetFirstSymbol().GetUltimate() : nullptr;
  }

  static Path path_of(const fp::AllocateObject& o) {
    Path out;
    if (const auto* n = std::get_if<fp::Name>(&o.u)) {
      if (n->symbol) out.push_back(&n->symbol->GetUltimate());
    } else if (const SomeExpr* e = sem::GetExpr(nullptr, o)) {
      for (const sem::Symbol& s : ev::GetSymbolVector(*e)) out.push_back(&s.GetUltimate());
    }
    return out;
  }

  void add_together(const std::vector<Path>& objects) {
    std::vector<const sem::Symbol*> bases;
    for (const Path& o : objects) bases.push_back(o[0]);
    together.push_back(std::move(bases));
  }

  void function(const SomeExpr& e) {
    if (const auto* ref = ev::UnwrapProcedureRef(e)) call(*ref);
  }

  const ProcedureEffects& procedures;
  const std::set<const ev::Assignment*> same_shape;
  std::optional<std::set<const sem::Symbol*>> named_;  // in the current `allocate`
};

/// `return` as a way out of a scope that is `depth` loops and scopes further out.
void leave_scope(Body& body, int depth) {
  for (std::size_t n = 0; n < body.size(); ++n) {
    Statement& s = body[n];
    if (auto* l = std::get_if<Leave>(&s.what); l && l->kind == Leave::Kind::Return) {
      const bool ended = n > 0 && std::holds_alternative<Stop>(body[n - 1].what);
      if (!ended) *l = {Leave::Kind::Exit, depth};
      continue;
    }
    const bool counts = std::holds_alternative<Do>(s.what) || std::holds_alternative<Scope>(s.what);
    for (auto* inner : bodies(s)) leave_scope(**inner, depth + (counts ? 1 : 0));
  }
}

std::string type_name(const std::string& address) { return address + "_type"; }

}  // namespace

namespace {

/// The bounds of an array as declared, of arguments and constants; empty for others.
std::string bounds_of(const sem::Symbol& s) {
  std::string out;
  for (const sem::ShapeSpec& axis : s.get<sem::ObjectEntityDetails>().shape()) {
    const auto &lower = axis.lbound().GetExplicit(), &upper = axis.ubound().GetExplicit();
    if (!lower || !upper) return "";
    for (const auto& e : {*lower, *upper})
      for (const sem::Symbol& x : ev::CollectSymbols(e))
        if (!sem::IsDummy(x.GetUltimate()) || x.Rank() > 0) return "";
    out += (out.empty() ? "(" : ", ") + lower->AsFortran() + ":" + upper->AsFortran();
  }
  return out.empty() ? out : out + ")";
}

}  // namespace

bool can_be_boxed(const sem::Symbol& s) {
  const auto* object = s.detailsIf<sem::ObjectEntityDetails>();
  const auto type = ev::DynamicType::From(s);
  const auto kind = s.owner().kind();
  if (!object || !type || kind != sem::Scope::Kind::Subprogram || sem::IsNamedConstant(s) ||
      sem::IsSaved(s) || sem::FindEquivalenceSet(s) || sem::FindCommonBlockContaining(s) ||
      s.attrs().test(sem::Attr::VALUE) ||
      (s.attrs().test(sem::Attr::OPTIONAL) && !sem::IsAllocatable(s)))
    return false;

  if (type->IsUnlimitedPolymorphic() || type->IsAssumedType() || object->IsCoarray()) return false;
  if (is_derived(*type) &&
      (!module_of_type(*type) || !type->GetDerivedTypeSpec().parameters().empty()))
    return false;
  if (type->category() == TypeCategory::Character && !type->knownLength() &&
      !type->HasDeferredTypeParameter())
    return false;
  if (sem::IsPointer(s) && !sem::IsFunctionResult(s) && is_derived(*type))
    return s.Rank() == 0 && !type->IsPolymorphic() && is_chained(type->GetDerivedTypeSpec());
  if (sem::IsPointer(s)) return !sem::IsDummy(s) && !sem::IsFunctionResult(s);
  const bool allocatable = sem::IsAllocatable(s);
  if (is_callers_record(s)) return s.Rank() == 0 || begins_at_one(s) || !bounds_of(s).empty();
  if (sem::IsDummy(s) || sem::IsFunctionResult(s)) return allocatable && !type->IsPolymorphic();
  return allocatable || (is_derived(*type) && s.Rank() == 0 && !type->IsPolymorphic());
}

bool is_callers_record(const sem::Symbol& s) {
  const auto type = ev::DynamicType::From(s);
  return record_type(type) && !sem::IsAllocatableOrPointer(s) &&
         (sem::IsDummy(s) || sem::IsFunctionResult(s));
}

bool gives_boxed(const sem::Symbol& procedure) {
  const auto* d = procedure.GetUltimate().detailsIf<sem::SubprogramDetails>();
  if (!d || !d->isFunction()) return false;
  const sem::Symbol& result = d->result();
  const sem::DerivedTypeSpec* record = record_type(ev::DynamicType::From(result));
  return sem::IsAllocatable(result) ||
         (record && sem::FindAllocatableOrPointerDirectComponent(*record));
}

namespace {

/// Takes a variable, or all of a record, out of those of the routine.
void erase_variable(const std::string& name, Routine& routine) {
  std::set<std::string> own;
  for (const auto& [n, v] : routine.variables)
    if (n == name || v.written.starts_with(name + "%")) own.insert(n);
  std::erase_if(routine.variables, [&](const auto& v) {
    return own.contains(v.first) || own.contains(v.second.lower_of) ||
           own.contains(v.second.present_of) ||
           (v.second.extent && own.contains(v.first.substr(0, v.first.rfind("_size"))));
  });
  std::erase_if(routine.defaults, [&](const Statement& s) {
    const auto* a = std::get_if<Assignment>(&s.what);
    const auto* p = std::get_if<PointerAssignment>(&s.what);
    return (a && own.contains(written_name(a->to))) || (p && own.contains(p->pointer));
  });
}

/// The variables that get bounds in Fortran, and the records of which they are components.
std::set<std::string> sized_in_fortran(const Routine& routine) {
  std::set<std::string> out;
  for (const std::string& name : routine.sized_later) {
    const auto it = routine.variables.find(name);
    const std::string written = it == routine.variables.end() ? name : shown(it->second);
    out.insert(written.substr(0, written.find('%')));
  }
  return out;
}

/// What the caller's record in a box is called in bounds of arrays, as components of others are.
using KeptRecords = std::map<std::string, const sem::Symbol*>;

/// The scalar component `name` of one of the records, which is no variable of the routine, as an
/// argument with its value at entry; none for others.
std::optional<Variable> value_of_part(const std::string& name, const KeptRecords& records) {
  const auto find = [&](const auto& self, const sem::DerivedTypeSpec& type,
                        const std::string& start, const std::string& path,
                        FortranComponent of) -> std::optional<Variable> {
    const sem::Scope* scope = type.scope() ? type.scope() : type.typeSymbol().scope();
    if (!scope) return std::nullopt;
    for (const auto& [source, symbol] : *scope) {
      const sem::Symbol& c = *symbol;
      const std::string own = start + "_" + source.ToString();
      const auto t = ev::DynamicType::From(c);
      if (!t || !c.has<sem::ObjectEntityDetails>() || c.Rank() > 0 ||
          sem::IsAllocatableOrPointer(c))
        continue;
      of.path = path + "%" + source.ToString();
      if (own == name && t->category() == TypeCategory::Integer) {
        Variable v;
        v.type = numeric_type(*t).value();
        v.component = std::make_shared<const FortranComponent>(std::move(of));
        return v;
      }
      const sem::DerivedTypeSpec* inner = name.starts_with(own + "_") ? record_type(t) : nullptr;
      if (inner)
        if (auto v = self(self, *inner, own, of.path, of)) return v;
    }
    return std::nullopt;
  };
  for (const auto& [own, symbol] : records) {
    if (!name.starts_with(own + "_")) continue;
    const auto type = *ev::DynamicType::From(*symbol);
    const sem::DerivedTypeSpec& spec = type.GetDerivedTypeSpec();
    FortranComponent of;
    of.of = own;
    of.type = spec.typeSymbol().GetUltimate().name().ToString();
    of.module = DEREF(module_of_type(type)).name().ToString();
    of.polymorphic = type.IsPolymorphic();
    if (auto v = find(find, spec, own, "", of)) return v;
  }
  return std::nullopt;
}

/// The names in a variable's bounds that are those of components of the records.
std::set<std::string> parts_in_bounds(const Variable& v, const KeptRecords& records,
                                      const Routine& routine) {
  std::set<std::string> out;
  for (const Bounds& b : v.bounds)
    for (const Expr* e : {&b.lower, &b.upper})
      if (*e) collect_vars(*e, out);
  std::erase_if(out, [&](const std::string& n) {
    const auto it = routine.variables.find(n);
    const bool part = it == routine.variables.end() ||
                      (it->second.component && records.contains(it->second.component->of));
    return !part || !value_of_part(n, records);
  });
  return out;
}

/// Bounds at entry of what Fortran keeps: arguments with its components' values.
void keep_parts_in_bounds(const KeptRecords& records, Routine& routine) {
  std::map<std::string, Expr> at_entry;
  std::vector<Variable> added;
  for (const auto& [name, v] : routine.variables)
    for (const std::string& n : parts_in_bounds(v, records, routine)) {
      if (at_entry.contains(n)) continue;
      Variable part = *value_of_part(n, records);
      part.name = fresh_name(routine, fortran_name("", n, "_at_entry"));
      part.at = v.at;
      part.dummy = part.value = true;
      part.intent = Intent::In;
      at_entry.emplace(n, var(part.name, part.at));
      added.push_back(std::move(part));
    }
  if (at_entry.empty()) return;
  for (auto& [name, v] : routine.variables)
    for (Bounds& b : v.bounds)
      for (Expr* e : {&b.lower, &b.upper})
        if (*e) *e = substitute(*e, at_entry);
  for (Variable& part : added) routine.variables.emplace(part.name, std::move(part));
}

/// Whether a record has no components that are variables of kernels: C has only its place.
bool has_no_parts(const sem::Symbol& s, const Span& at) {
  try {
    const auto all = components_of(type_of_record(*ev::DynamicType::From(s), at), at);
    return std::all_of(all.begin(), all.end(), [](const sem::Symbol* c) { return leads_back(*c); });
  } catch (const Error&) { return false; }  // which is why it is no variable either
}

/// Whether the interface of a pure routine cannot point to it.
bool is_out_of_reach(const sem::Symbol& s, const Routine& routine) {
  if (!routine.home.pure || !sem::IsDummy(s)) return false;
  return sem::IsPointer(s) || (is_callers_record(s) && !s.attrs().test(sem::Attr::INTENT_INOUT) &&
                               !s.attrs().test(sem::Attr::INTENT_OUT));
}

}  // namespace

Boxes boxes_of(const fp::Block& block, const sem::Scope& scope, const Places& places,
               const ProcedureEffects& procedures, Routine& routine) {
  MemoryFinder memory(procedures, assignments_of_same_shape(block, routine.at));
  walk(block, memory);
  memory.settle_uses();
  const std::set<std::string> later = sized_in_fortran(routine);
  for (const auto& [name, symbol] : scope)
    if (later.contains(name.ToString())) memory.found.insert(&symbol->GetUltimate());
  for (const auto& [name, symbol] : scope) {
    const sem::Symbol& s = symbol->GetUltimate();
    if (&s.owner() == &scope && sem::IsDummy(s) && is_callers_record(s) &&
        has_no_parts(s, places.of(s.name())))
      memory.found.insert(&s);
  }
  memory.spread(routine);
  KeptRecords records;
  for (const auto& [name, symbol] : scope) {
    const sem::Symbol& s = symbol->GetUltimate();
    const std::string own = s.name().ToString();
    if (&s.owner() == &scope && is_callers_record(s) && sem::IsDummy(s) && s.Rank() == 0 &&
        can_be_boxed(s) && (memory.found.contains(&s) || routine.unreadable.contains(own)))
      records.emplace(own, &s);
  }
  keep_parts_in_bounds(records, routine);
  Boxes out;
  for (const auto& [name, symbol] : scope) {
    const sem::Symbol& s = symbol->GetUltimate();
    if (&s.owner() != &scope || !can_be_boxed(s)) continue;
    const std::string own = s.name().ToString();
    const Span at = places.of(s.name());
    const auto refused = routine.unreadable.find(own);
    if (refused == routine.unreadable.end()) {
      const auto it = routine.variables.find(own);
      const bool record = record_type(ev::DynamicType::From(s));
      if (!memory.found.contains(&s) ||
          (!record && (it == routine.variables.end() || it->second.text)))
        continue;
      erase_variable(own, routine);
      routine.unreadable[own] = {{"unsupported",
                                  fmt::format("`{}`, which gets memory in Fortran alone, is not "
                                              "supported here in Fortran kernels",
                                              own),
                                  {at, {}},
                                  {},
                                  {}}};
    }
    if (is_out_of_reach(s, routine))
      unsupported(at, fmt::format("`{}`, which Fortran keeps, in a pure routine", own));
    Box b;
    b.at = at;
    const auto type = *ev::DynamicType::From(s);
    b.what.name = own;
    b.what.type = type.AsFortran();
    for (char& c : b.what.type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (is_derived(type)) {
      const sem::Symbol& t = type.GetDerivedTypeSpec().typeSymbol().GetUltimate();
      b.what.module = DEREF(module_of_type(type)).name().ToString();
      b.what.imported = t.name().ToString();
      b.what.type = (type.IsPolymorphic() ? "class(" : "type(") + b.what.imported + ")";
      b.what.is_private = t.attrs().test(sem::Attr::PRIVATE);
    }
    b.what.allocatable = sem::IsAllocatable(s);
    b.what.pointer = b.pointer = sem::IsPointer(s);
    b.what.record = is_callers_record(s);
    if (b.what.record && !begins_at_one(s)) b.what.bounds = bounds_of(s);
    for (int axis = 0; axis < s.Rank(); ++axis) b.what.shape += axis ? ", :" : "(:";
    if (s.Rank() > 0) b.what.shape += ")";
    b.what.result = sem::IsFunctionResult(s);
    b.what.optional = s.attrs().test(sem::Attr::OPTIONAL);
    if (s.attrs().test(sem::Attr::INTENT_IN)) b.what.intent = ", intent(in)";
    if (s.attrs().test(sem::Attr::INTENT_OUT)) b.what.intent = ", intent(out)";
    if (s.attrs().test(sem::Attr::INTENT_INOUT)) b.what.intent = ", intent(inout)";
    b.of_caller = sem::IsDummy(s) || b.what.result;
    b.address = "box_of_" + own;
    while (routine.variables.count(b.address) || scope.FindSymbol(fp::CharBlock{b.address}))
      b.address += "_";
    Variable v;
    v.name = b.address;
    v.at = at;
    v.type = moonloop::Scalar::I64;
    if (b.of_caller) {
      v.dummy = v.value = true;
      v.intent = Intent::In;
    }
    routine.variables.emplace(v.name, std::move(v));
    routine.boxed.insert(own);
    out.emplace(&s, std::move(b));
  }
  return out;
}

BoxLines lines_of(const Box& box, const std::string& address, const std::string& in_module) {
  const FortranBox& w = box.what;
  BoxLines out;
  const std::string pointer = "to_" + address;
  const std::string allocatable = w.allocatable             ? ", allocatable"
                                  : box.pointer || w.record ? ", pointer"
                                                            : "";
  out.declarations = fmt::format(
      "type :: {}\n    {}{} :: value{}{}\n  end type\n  type({}), pointer :: {}\n  {}{} :: {}{}\n "
      " ",
      type_name(address), w.type, allocatable, w.shape, box.pointer ? " => null()" : "",
      type_name(address), pointer, w.type, w.allocatable ? allocatable : ", pointer", w.name,
      w.shape);
  out.before = fmt::format("call c_f_pointer(transfer({}, c_null_ptr), {})\n  ", address, pointer);
  if (!box.of_caller)
    out.before = fmt::format(
        "if ({0} == 0) then\n    allocate ({1})\n    {0} = transfer(c_loc({1}), {0})\n  end if\n  "
        "{2}",
        address, pointer, out.before);
  if (w.allocatable) {
    out.before += fmt::format("call move_alloc({}%value, {})\n  ", pointer, w.name);
    out.after = fmt::format("\n  call move_alloc({}, {}%value)", w.name, pointer);
  } else {
    out.before += fmt::format("{} => {}%value\n  ", w.name, pointer);
    if (box.pointer) out.after = fmt::format("\n  {}%value => {}", pointer, w.name);
  }
  out.uses.insert("  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_loc, c_null_ptr\n");
  if (!w.module.empty() && w.module != in_module)
    out.uses.insert("  use " + w.module + ", only: " + w.imported + "\n");
  return out;
}

namespace {

/// Asks for the addresses of the boxes of optional arguments, which are 0 where these are not
/// there.
void ask_for_boxes(const Boxes& boxes, Body& body) {
  std::map<std::string, Expr> addresses;  // by what says whether an argument is there
  for (const auto& [symbol, b] : boxes)
    if (b.what.optional) addresses.emplace(present_name(b.what.name), var(b.address, b.at));
  if (addresses.empty()) return;
  const std::function<void(Body&)> visit = [&](Body& all) {
    for (Statement& s : all) {
      expressions(s, [&](Expr& e) {
        if (e)
          e = rewrite(e, [&](const Expr& x) {
            const auto* c = x.as<Compare>();
            const auto* v = c ? c->left.as<Var>() : nullptr;
            const auto it = v ? addresses.find(v->name) : addresses.end();
            if (it == addresses.end()) return x;
            return Expr(
                Compare{c->op == CompareOp::Gt ? CompareOp::Ne : CompareOp::Eq, it->second, lit(0)},
                x.at());
          });
      });
      for (auto* inner : bodies(s)) visit(**inner);
    }
  };
  visit(body);
}

}  // namespace

void end_boxes(const Boxes& boxes, Routine& routine, Body& body) {
  ask_for_boxes(boxes, body);
  Body before, after;
  for (const auto& [symbol, b] : boxes) {
    if (b.of_caller) {
      FortranBox what = b.what;
      what.input = !*b.changed && !what.result && what.intent != ", intent(out)";
      routine.variables.at(b.address).box = std::make_shared<const FortranBox>(std::move(what));
      continue;
    }
    before.push_back({b.at, Assignment{var(b.address, b.at), lit(0)}});
    Output o;
    o.what = "deallocate";
    o.calls = sem::IsFinalizable(*symbol);
    o.module = b.what.is_private ? b.what.module : "";
    const BoxLines lines = lines_of(b, b.address, o.module);
    o.declarations.push_back("integer(8), intent(inout) :: " + b.address);
    o.changes.insert(0);
    o.uses = lines.uses;
    const std::string pointer = "to_" + b.address;
    o.statement = lines.declarations +
                  fmt::format(
                      "if ({0} == 0) return\n  call c_f_pointer(transfer({0}, c_null_ptr), "
                      "{1})\n  deallocate ({1})\n  {0} = 0",
                      b.address, pointer);
    SubroutineCall c{"a statement in Fortran",
                     {var(b.address, b.at)},
                     {},
                     std::make_shared<Output>(std::move(o))};
    if (!sem::IsFinalizable(*symbol)) c.effects = std::make_shared<const Effects>();
    after.push_back({b.at, std::move(c)});
  }
  if (after.empty()) return;
  leave_scope(body, 0);
  before.push_back({routine.at, Scope{std::make_shared<Body>(std::move(body))}});
  append(std::move(after), before);
  body = std::move(before);
}

std::string address_of_box(const std::string& name, const Routine& routine) {
  for (const auto& [own, v] : routine.variables)
    if (v.box && v.box->name == name) return own;
  throw InternalError("an argument in a box has no address");
}

}  // namespace moonloop::fortran
