#include "frontends/fortran/flang_wrong.h"

#include "core/base/diagnostic.h"
#include "frontends/fortran/flang_walk.h"

namespace moonloop::fortran {
namespace {

/// All names of a file that Flang has resolved.
struct ResolvedNames : TreeVisitor {
  std::vector<const fp::Name*> names;
  bool before(const TreeNode& node) override {
    if (const auto* n = node.as<fp::Name>(); n && n->symbol) names.push_back(n);
    return true;
  }
};

using Line = std::pair<const Source*, int>;

/// Whether a statement has an error.
bool is_wrong(fp::CharBlock statement, const Places& places, const std::set<Line>& wrong) {
  const Span first = places.of(fp::CharBlock{statement.begin(), 1});
  const Span last = places.of(fp::CharBlock{statement.end() - 1, 1});
  const auto it = wrong.lower_bound({first.source, first.line});
  return it != wrong.end() && it->first == first.source &&
         it->second <= std::max(first.line, last.line);
}

}  // namespace

WrongDeclarations::WrongDeclarations(const fp::Program& program, const Places& places,
                                     const std::vector<Diagnostic>& errors)
    : places_(places) {
  std::set<Line> lines;
  for (const Diagnostic& d : errors) lines.insert({d.where.at.source, d.where.at.line});
  ResolvedNames all;
  walk(program, all);
  std::set<const char*> seen;
  for (const fp::Name* n : all.names) {
    const fp::CharBlock statement = places.statement_of(n->source);
    if (!statement.empty() && seen.insert(statement.begin()).second &&
        is_wrong(statement, places, lines))
      statements_.insert(statement.begin());
  }
  for (std::size_t known = 0; known != statements_.size();) {
    known = statements_.size();
    for (const fp::Name* n : all.names) mark(*n->symbol);
    for (const fp::Name* n : all.names)
      if (!n->symbol->GetUltimate().owner().IsDerivedType() && has(*n->symbol))
        if (const fp::CharBlock s = places.statement_of(n->source); !s.empty())
          statements_.insert(s.begin());
  }
  for (const fp::Name* n : all.names)
    if (!n->symbol->GetUltimate().owner().IsDerivedType() && has(*n->symbol))
      uses_.push_back({places.of(n->source), n->symbol});
}

/// A procedure whose argument or result is declared so is, too.
bool WrongDeclarations::mark(const sem::Symbol& symbol) {
  const sem::Symbol& s = symbol.GetUltimate();
  const sem::Symbol* procedure = s.owner().symbol();
  if (!procedure || !(sem::IsDummy(s) || sem::IsFunctionResult(s)) || !has(s)) return false;
  const fp::CharBlock statement = places_.statement_of(procedure->name());
  return !statement.empty() && statements_.insert(statement.begin()).second;
}

bool WrongDeclarations::has(const sem::Symbol& symbol) const {
  return statements_.contains(places_.statement_of(symbol.GetUltimate().name()).begin());
}

std::vector<Diagnostic> WrongDeclarations::used_in(const Source* source,
                                                   const FortranFile::Lines& lines) const {
  for (const Use& u : uses_)
    if (u.at.source == source && u.at.line >= lines.first && u.at.line <= lines.last)
      return {{"fortran",
               fmt::format("the declaration of `{}` has an error", u.symbol->name().ToString()),
               {u.at, {}},
               {},
               {}}};
  return {};
}

}  // namespace moonloop::fortran
