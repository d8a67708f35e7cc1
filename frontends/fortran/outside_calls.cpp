#include "frontends/fortran/outside_calls.h"

#include <functional>

#include "frontends/fortran/names.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

void type_functions(Body& body, const std::set<std::string>& outside,
                    const std::vector<Routine>& all) {
  const std::function<Expr(const Expr&)> typed = [&](const Expr& e) -> Expr {
    const auto* c = e.as<Cast>();
    const bool known = c && !called(c->arg, kFunction).empty();
    const Expr inner = known
                           ? map_children(e, [&](const Expr& f) { return map_children(f, typed); })
                           : map_children(e, typed);
    const std::string name = called(inner, kFunction);
    return outside.contains(name)
               ? Expr(Cast{*find_routine(all, name)->by_address->gives, inner}, e.at())
               : inner;
  };
  if (outside.empty()) return;
  for (Statement& s : body) {
    expressions(s, [&](Expr& e) {
      if (e) e = typed(e);
    });
    for (auto* inner : bodies(s)) {
      *inner = std::make_shared<Body>(**inner);
      type_functions(**inner, outside, all);
    }
  }
}

bool has_other_way(const Body& b, const std::string& name) {
  bool out = true;
  std::size_t ways = 0, calls = 0;
  const std::function<void(const Body&)> visit = [&](const Body& body) {
    for (const Statement& s : body) {
      if (const auto* c = std::get_if<SubroutineCall>(&s.what); c && c->name == name) {
        ++ways;
        out = out && !c->otherwise.empty();
      }
      for (const auto* inner : bodies(s)) visit(**inner);
    }
  };
  visit(b);
  for (const auto& [called, at] : calls_of(b)) calls += called == name ? 1 : 0;
  return out && ways == calls;  // and no function's value
}

}  // namespace moonloop::fortran
