#include <algorithm>

#include "cli/commands.h"
#include "cli/topics.h"
#include "transforms/registry.h"

namespace moonloop::cli {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

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

/// `split_iname(knl, iname, factor, {outer_iname, …})`
std::string signature(const Op& op) {
  std::string out = "lp." + op.name + "(knl";
  std::vector<std::string> options;
  for (const Param& p : row_of(op).params) {
    if (!p.positional)
      options.push_back(p.name);
    else
      out += p.required ? ", " + p.name : ", [" + p.name + "]";
  }
  if (!options.empty()) out += fmt::format(", {{{}}}", fmt::join(options, ", "));
  return out + ")";
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t end = text.find('\n', from);
    if (end == std::string::npos) end = text.size();
    if (end > from) out += by + text.substr(from, end - from);
    out += '\n';
    from = end + 1;
  }
  return out;
}

std::string param_text(const Param& p) {
  std::string out = fmt::format("{} ({}", p.name, kind_text(p.kind));
  if (p.required) out += ", required";
  if (!p.fallback.empty()) out += ", default " + p.fallback;
  return out + "): " + p.help;
}

std::string op_help(const Op& op) {
  const Op& row = row_of(op);
  std::string out = signature(op) + "\n\n" + (op.doc.empty() ? row.doc : op.doc);
  if (out.back() != '\n') out += '\n';
  if (!op.alias_of.empty()) out += "The same as " + op.alias_of + ".\n";
  if (!row.params.empty()) out += "\nParameters:\n";
  for (const Param& p : row.params) out += "  " + param_text(p) + "\n";
  if (!row.example.empty())
    out += "\nExample:\n" + indented(row.example_kernel, "  ") + "\n" + indented(row.example, "  ");
  return out;
}

std::string op_markdown(const Op& op) {
  const Op& row = row_of(op);
  std::string out = fmt::format("### `{}`\n\n`{}`\n\n{}\n", op.name, signature(op),
                                op.doc.empty() ? row.doc : op.doc);
  if (!op.alias_of.empty()) out += fmt::format("\nThe same as `{}`.\n", op.alias_of);
  if (!row.params.empty()) out += "\n| parameter | kind | default | |\n|---|---|---|---|\n";
  for (const Param& p : row.params) {
    std::string help = p.help;
    for (std::size_t at = 0; (at = help.find('|', at)) != std::string::npos; at += 2)
      help.insert(at, "\\");
    out += fmt::format("| `{}` | {} | {} | {} |\n", p.name, kind_text(p.kind),
                       p.required           ? "required"
                       : p.fallback.empty() ? ""
                                            : "`" + p.fallback + "`",
                       help);
  }
  if (op.alias_of.empty() && !op.example.empty())
    out += fmt::format("\n{}\n{}\n", indented(op.example_kernel, "    "),
                       indented(op.example, "    "));
  return out + "\n";
}

std::string markdown(const CLI::App& app) {
  std::string out =
      "# Reference\n\n"
      "Made by `moonloop doc --markdown` from the tables that make the bindings and the command\n"
      "line; a test compares it with them.\n\n## Commands\n\n";
  for (const CLI::App* command : app.get_subcommands({}))
    out +=
        fmt::format("### `{}`\n\n```\n{}```\n\n", command->get_name(), command->help("moonloop"));
  out +=
      "## Transforms\n\nThe kernel comes first; a method call has it before the colon. "
      "Parameters in braces, and\nany other by its name, go in one trailing table.\n\n";
  for (const Op* op : all_ops()) out += op_markdown(*op);
  std::string group;
  for (const Topic& t : topics()) {
    if (t.group != group) out += fmt::format("## {}\n\n", group = t.group);
    out += fmt::format("### `{}`\n\n{}\n\n", t.name, t.text);
  }
  out.pop_back();
  return out;
}

std::string overview(const CLI::App& app) {
  std::string out = "moonloop doc NAME tells more about each of these.\n\nCommands\n";
  const auto line = [&](const std::string& name, const std::string& text) {
    out += fmt::format("  {:<24} {}\n", name, text);
  };
  for (const CLI::App* command : app.get_subcommands({}))
    line(command->get_name(), command->get_description());
  out += "\nTransforms\n";
  for (const Op* op : all_ops())
    line(op->name, first_line(op->doc.empty() ? row_of(*op).doc : op->doc));
  std::string group;
  for (const Topic& t : topics()) {
    if (t.group != group) out += "\n" + (group = t.group) + "\n";
    line(t.name, first_line(t.text));
  }
  return out;
}

/// `g.0` and `l.2` are asked for as often as `g.N`.
std::string topic_name(const std::string& name) {
  const bool axis = name.size() == 3 && name[1] == '.' && name[2] >= '0' && name[2] <= '9';
  return axis ? name.substr(0, 2) + "N" : name;
}

struct DocOptions {
  std::string name;
  bool markdown = false;
};

}  // namespace

std::string help_on(const CLI::App& app, const std::string& name) {
  const std::string bare = name.starts_with("lp.") ? name.substr(3) : name;
  std::vector<std::string> known, found;
  for (const Op* op : all_ops()) {
    known.push_back(op->name);
    if (op->name == bare) found.push_back(op_help(*op));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (command->get_name() == name) found.push_back(command->help("moonloop"));
  }
  for (const Topic& t : topics()) {
    known.push_back(t.name);
    if (t.name == topic_name(name) || t.name == "lp." + bare)
      found.push_back(t.name + "\n\n" + t.text + "\n");
  }
  if (found.empty())
    fail("unknown-topic", {}, "no help on `{}`{}; `moonloop doc` lists all topics", name,
         did_you_mean(name, known));
  return fmt::format("{}", fmt::join(found, "\n"));
}

void add_doc(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<DocOptions>();
  CLI::App* command =
      app.add_subcommand("doc", "Help on a transform, command, tag or syntax element");
  command->add_option("NAME", o->name, "what to tell about; nothing lists all")->type_name("");
  command->add_flag("--markdown", o->markdown, "print the whole reference");
  add_common_options(*command, common, false);
  command->callback([&app, &action, o] {
    action = [&app, o] {
      write_output("-", o->markdown       ? markdown(app)
                        : o->name.empty() ? overview(app)
                                          : help_on(app, o->name));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
