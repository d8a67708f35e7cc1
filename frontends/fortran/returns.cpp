#include <algorithm>

#include "core/diagnostic.h"
#include "frontends/fortran/program.h"

namespace moonloop::fortran {
namespace {

bool returns(const Body& b) {
  const auto* leave = b.empty() ? nullptr : std::get_if<Leave>(&b.back().what);
  return leave && leave->kind == Leave::Kind::Return;
}

}  // namespace

Body without_returns(Body body) {
  if (returns(body)) body.pop_back();
  for (std::size_t n = 0; n < body.size(); ++n) {
    const Statement s = body[n];
    if (std::holds_alternative<Leave>(s.what)) {  // the rest is never reached
      body.resize(n);
      return body;
    }
    const auto* c = std::get_if<Choice>(&s.what);
    if (!c) continue;
    const auto leaves = [](const Choice::Arm& a) { return returns(*a.body); };
    if (std::none_of(c->arms.begin(), c->arms.end(), leaves)) continue;
    Choice choice = *c;
    if (choice.arms.back().condition) choice.arms.push_back({Expr(), std::make_shared<Body>()});
    if (std::count_if(choice.arms.begin(), choice.arms.end(), leaves) + 1 !=
        static_cast<std::ptrdiff_t>(choice.arms.size()))
      fail("unsupported", s.at,
           "`return` in some arms of a choice of which several go on is not supported in Fortran "
           "kernels");
    for (Choice::Arm& a : choice.arms) {
      Body inner = *a.body;
      if (returns(inner))
        inner.pop_back();
      else
        inner.insert(inner.end(), body.begin() + static_cast<std::ptrdiff_t>(n) + 1, body.end());
      a.body = std::make_shared<Body>(without_returns(std::move(inner)));
    }
    body.resize(n);
    body.push_back({s.at, std::move(choice)});
    return body;
  }
  return body;
}

}  // namespace moonloop::fortran
