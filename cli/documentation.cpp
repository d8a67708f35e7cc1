#include "cli/documentation.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "scripts/library.h"
#include "transforms/registry.h"

namespace moonloop::cli {
namespace {

std::string kind_text(Kind kind) {
  switch (kind) {
    case Kind::Str: return "string";
    case Kind::Int: return "integer";
    case Kind::Num: return "number";
    case Kind::Bool: return "boolean";
    case Kind::Names: return "names";
    case Kind::Tags: return "tags by name";
    case Kind::IntPair: return "two integers";
    case Kind::Numbers: return "integers by name";
    case Kind::Reals: return "numbers by name";
    case Kind::Match: return "match";
    case Kind::Any: return "any";
  }
  throw InternalError("unknown kind of parameter");
}

/// An alias may leave its parameters to the row that it stands for.
const Op& row_of(const Op& op) {
  const Op* target = op.alias_of.empty() || !op.params.empty() ? nullptr : find_op(op.alias_of);
  return target ? *target : op;
}

DocFunction transform(const Op& op) {
  const Op& row = row_of(op);
  DocFunction f;
  f.name = op.name;
  f.module = "lp";
  f.doc = op.doc.empty() ? row.doc : op.doc;
  f.alias_of = op.alias_of;
  for (const Param& p : row.params)
    f.params.push_back({p.name, kind_text(p.kind), p.help, p.required, p.fallback, p.positional});
  if (row.query)
    f.results.push_back({"value", "any", "what was asked for"});
  else
    f.results.push_back({"kernel", "kernel", "the new kernel"});
  f.example_kernel = row.example_kernel;
  f.example = row.example;
  return f;
}

DocFunction library_function(const LibraryFunction& l) {
  DocFunction f;
  f.name = l.name;
  f.module = "lib";
  f.doc = l.doc;
  for (const LibraryParam& p : l.params)
    f.params.push_back({p.name, p.kind, p.help, p.required, p.fallback, p.positional});
  for (const LibraryResult& r : l.results) f.results.push_back({r.name, r.kind, r.help});
  f.example_kernel = l.example_kernel;
  f.example = l.example;
  return f;
}

/// Splits CLI11's `TARGET:{c,openmp}`: the value's name, and its choices.
void read_type(const std::string& type, DocOption& o) {
  o.value = type.substr(0, type.find(':'));
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return;
  std::string choice;
  for (const char c : type.substr(open + 1, close - open - 1) + ",") {
    if (c != ',') {
      choice += c;
    } else {
      o.choices.push_back(choice);
      choice.clear();
    }
  }
}

DocOption option(const CLI::Option& given) {
  DocOption o;
  for (const std::string& name : given.get_snames()) o.flags.push_back("-" + name);
  for (const std::string& name : given.get_lnames()) o.flags.push_back("--" + name);
  o.help = given.get_description();
  if (o.flags.empty()) o.name = given.get_name();
  const bool takes_value = given.get_items_expected_max() > 0;
  if (takes_value) read_type(given.get_type_name(), o);
  if (takes_value) o.fallback = given.get_default_str();
  o.required = given.get_required();
  o.repeatable = given.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll &&
                 takes_value && !o.flags.empty();
  return o;
}

std::vector<DocOption> options_of(const CLI::App& app) {
  std::vector<DocOption> out;
  for (const CLI::Option* o : app.get_options()) out.push_back(option(*o));
  return out;
}

}  // namespace

Documentation documentation(const CLI::App& app) {
  Documentation d;
  d.summary = app.get_description();
  d.footer = app.get_footer();
  d.options = options_of(app);
  for (const CLI::App* command : app.get_subcommands({}))
    d.commands.push_back({command->get_name(), command->get_description(),
                          command->help("moonloop"), options_of(*command)});
  for (const Op* op : all_ops()) d.transforms.push_back(transform(*op));
  for (const LibraryFunction& f : library()) d.library.push_back(library_function(f));
  d.api = lua_api();
  d.topics = topics();
  return d;
}

std::string signature(const DocFunction& f) {
  std::string out = f.module + "." + f.name + "(knl";
  std::vector<std::string> options;
  for (const DocParam& p : f.params) {
    if (!p.positional)
      options.push_back(p.name);
    else
      out += p.required ? ", " + p.name : ", [" + p.name + "]";
  }
  if (!options.empty()) out += fmt::format(", {{{}}}", fmt::join(options, ", "));
  return out + ")";
}

}  // namespace moonloop::cli
