#include <algorithm>
#include <functional>

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

// Variables that share memory (`equivalence`) as parts of one array.
namespace moonloop::fortran {
namespace {

class Sharing {
 public:
  explicit Sharing(Routine& r) : r_(r) {}

  void run() {
    const bool some = std::any_of(r_.variables.begin(), r_.variables.end(),
                                  [](const auto& v) { return !v.second.storage.empty(); });
    if (!some) return;
    rename_in(r_.body, {});  // a body of its own
    visit(r_.body);
    std::erase_if(r_.variables, [](const auto& v) { return !v.second.storage.empty(); });
  }

 private:
  void visit(Body& body) {
    for (Statement& s : body) {
      if (const auto* d = std::get_if<Do>(&s.what); d && shared(d->variable))
        refuse(s.at, "a loop's variable", d->variable);
      if (auto* c = std::get_if<SubroutineCall>(&s.what)) {
        for (Expr& a : c->arguments) a = argument(a);
        for (SubroutineCall& other : c->otherwise)
          for (Expr& a : other.arguments) a = argument(a);
        if (c->result) c->result = expr(c->result);
      } else {
        expressions(s, [&](Expr& e) {
          if (e) e = expr(e);
        });
      }
      for (auto* inner : bodies(s)) visit(**inner);
    }
  }

  [[noreturn]] static void refuse(const Span& at, std::string_view what, const std::string& name) {
    fail("unsupported", at,
         "{}, `{}`, which is in `equivalence`, is not supported in Fortran kernels", what, name);
  }

  const Variable* shared(const std::string& name) const {
    const auto it = r_.variables.find(name);
    return it == r_.variables.end() || it->second.storage.empty() ? nullptr : &it->second;
  }

  /// A whole array that a call gets is its first element's place.
  Expr argument(const Expr& a) const {
    const auto* v = a.as<Var>();
    const Variable* x = v ? shared(v->name) : nullptr;
    return x && x->array ? load(x->storage, {lit(x->before + 1)}, a.at()) : expr(a);
  }

  static std::int64_t number(const Expr& e) {
    const auto n = as_int(e);
    ensure(n.has_value(), "a bound in `equivalence` that is not a constant");
    return *n;
  }
  static std::int64_t first(const Bounds& b) { return number(first_of(b)); }
  static std::int64_t count(const Bounds& b) { return number(b.upper) - first(b) + 1; }

  Expr expr(const Expr& e) const {
    if (const std::string end = called(e, kBound); !end.empty()) {
      const auto* v = e.as<Call>()->args[0].as<Var>();
      const Variable* x = v ? shared(v->name) : nullptr;
      const auto& args = e.as<Call>()->args;
      if (x && args.size() == 2) {
        const Bounds& b = x->bounds.at(static_cast<std::size_t>(number(args[1]) - 1));
        return lit(end == "lbound" ? first(b) : number(b.upper));
      }
    }
    const Expr inner = map_children(e, [&](const Expr& c) { return expr(c); });
    if (const auto* v = inner.as<Var>()) {
      const Variable* x = shared(v->name);
      if (!x) return inner;
      if (!x->array) return load(x->storage, {lit(x->before + 1)}, e.at());
      if (x->bounds.size() > 1) refuse(e.at(), "an array of several axes as a whole", v->name);
      return load(x->storage,
                  {Expr(Slice{lit(x->before + 1), lit(x->before + count(x->bounds[0])), lit(1)})},
                  e.at());
    }
    const auto* l = inner.as<Load>();
    const Variable* x = l ? shared(l->array) : nullptr;
    if (!x) return inner;
    const auto moved = [&](const Expr& i) {
      return index_add({i, lit(x->before + 1 - first(x->bounds[0]))});
    };
    if (l->index.size() == 1) {
      const auto* s = l->index[0].as<Slice>();
      if (!s) return load(x->storage, {moved(l->index[0])}, e.at());
      const Bounds& b = x->bounds[0];
      return load(x->storage,
                  {Expr(Slice{moved(s->start ? s->start : lit(first(b))),
                              moved(s->stop ? s->stop : lit(number(b.upper))), s->step},
                        l->index[0].at())},
                  e.at());
    }
    Expr place = lit(x->before + 1);
    std::int64_t stride = 1;
    for (std::size_t n = 0; n < l->index.size(); ++n) {
      if (l->index[n].as<Slice>())
        refuse(e.at(), "a section of an array of several axes", l->array);
      const Bounds& b = x->bounds.at(n);
      place = index_add({place, index_mul(lit(stride), index_sub(l->index[n], lit(first(b))))});
      stride *= count(b);
    }
    return load(x->storage, {place}, e.at());
  }

  Routine& r_;
};

}  // namespace

void share_storage(Routine& routine) { Sharing(routine).run(); }

}  // namespace moonloop::fortran
