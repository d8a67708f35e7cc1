#include <algorithm>

#include "cli/commands.h"
#include "cli/documentation.h"

namespace moonloop::cli {
namespace {

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

std::string param_text(const DocParam& p) {
  std::string out = fmt::format("{} ({}", p.name, p.kind);
  if (p.required) out += ", required";
  if (!p.fallback.empty()) out += ", default " + p.fallback;
  return out + "): " + p.help;
}

std::string function_help(const DocFunction& f) {
  std::string out = signature(f) + "\n\n" + f.doc;
  if (out.back() != '\n') out += '\n';
  if (!f.alias_of.empty()) out += "The same as " + f.alias_of + ".\n";
  if (!f.params.empty()) out += "\nParameters:\n";
  for (const DocParam& p : f.params) out += "  " + param_text(p) + "\n";
  if (f.results.size() > 1) {
    out += "\nResults:\n";
    for (const DocResult& r : f.results)
      out += fmt::format("  {} ({}): {}\n", r.name, r.kind, r.help);
  }
  if (!f.example.empty())
    out += "\nExample:\n" + indented(f.example_kernel, "  ") + "\n" + indented(f.example, "  ");
  return out;
}

std::string overview(const Documentation& d) {
  std::string out = "moonloop doc NAME tells more about each of these.\n\nCommands\n";
  const auto line = [&](const std::string& name, const std::string& text) {
    out += fmt::format("  {:<24} {}\n", name, text);
  };
  for (const DocCommand& c : d.commands) line(c.name, c.summary);
  out += "\nTransforms\n";
  for (const DocFunction& f : d.transforms) line(f.name, f.summary());
  out += "\nLibrary\n";
  for (const DocFunction& f : d.library) line("lib." + f.name, f.summary());
  std::string group;
  for (const Topic& t : d.topics) {
    if (t.group != group) out += "\n" + (group = t.group) + "\n";
    line(t.name, t.text.substr(0, t.text.find('\n')));
  }
  return out;
}

/// `g.0` and `l.2` are asked for as often as `g.N`.
std::string topic_name(const std::string& name) {
  const bool axis = name.size() == 3 && name[1] == '.' && name[2] >= '0' && name[2] <= '9';
  return axis ? name.substr(0, 2) + "N" : name;
}

/// `lp.split_iname` and `lib.tile` without the part before the dot.
std::string bare_name(const std::string& name) {
  for (const std::string module : {"lp.", "lib."})
    if (name.starts_with(module)) return name.substr(module.size());
  return name;
}

/// All topics of that name: `assume` is a transform and a line of kernel text.
std::string help_on(const Documentation& d, const std::string& name) {
  const std::string bare = bare_name(name);
  std::vector<std::string> known, found;
  for (const auto* functions : {&d.transforms, &d.library})
    for (const DocFunction& f : *functions) {
      known.push_back(f.name);
      if (f.name == bare && (bare == name || name == f.module + "." + bare))
        found.push_back(function_help(f));
    }
  for (const DocCommand& c : d.commands) {
    known.push_back(c.name);
    if (c.name == name) found.push_back(c.help);
  }
  for (const Topic& t : d.topics) {
    known.push_back(t.name);
    if (t.name == topic_name(name) || t.name == name || t.name == "lp." + name)
      found.push_back(t.name + "\n\n" + t.text + "\n");
  }
  if (found.empty())
    fail("unknown-topic", {}, "no help on `{}`{}; `moonloop doc` lists all topics", name,
         did_you_mean(name, known));
  return fmt::format("{}", fmt::join(found, "\n"));
}

struct DocOptions {
  std::string name, shell;
  bool markdown = false, json = false, stubs = false, man = false;
};

/// NAME goes with help, stubs and pages; of the other forms there is one.
void check_usage(const DocOptions& o) {
  const int forms = o.markdown + o.json + o.stubs + o.man + !o.shell.empty();
  if (forms > 1)
    throw CLI::ValidationError(
        "doc", "only one of --markdown, --json, --lua-stubs, --completion and --man");
  if (!o.name.empty() && (o.markdown || o.json || !o.shell.empty()))
    throw CLI::ValidationError("NAME", "--markdown, --json and --completion take none");
}

std::string text_of(const Documentation& d, const DocOptions& o) {
  if (o.markdown) return doc_markdown(d);
  if (o.json) return doc_json(d);
  if (o.stubs) return doc_stubs(d, o.name);
  if (o.man) return doc_man(d, o.name);
  if (!o.shell.empty()) return doc_completion(d, o.shell);
  return o.name.empty() ? overview(d) : help_on(d, o.name);
}

}  // namespace

std::string help_on(const CLI::App& app, const std::string& name) {
  return help_on(documentation(app), name);
}

void add_doc(CLI::App& app, Common& common, std::function<int()>& action) {
  auto o = std::make_shared<DocOptions>();
  CLI::App* command =
      app.add_subcommand("doc", "Help on a transform, command, tag or syntax element");
  command->add_option("NAME", o->name, "what to tell about; nothing lists all")->type_name("");
  command->add_flag("--markdown", o->markdown, "print the whole reference");
  command->add_flag("--json", o->json, "print all that there is as one JSON object");
  command->add_flag("--lua-stubs", o->stubs,
                    "print declarations for the Lua language server, of the module NAME: moonloop "
                    "(if not told) or moonloop.lib");
  command->add_option("--completion", o->shell, "print completions for a shell")
      ->type_name("SHELL")
      ->check(one_of(completion_shells()));
  command->add_flag("--man", o->man, "print a manual page, of the command NAME or of all");
  add_common_options(*command, common, false);
  command->callback([&app, &action, o] {
    check_usage(*o);
    action = [&app, o] {
      write_output("-", text_of(documentation(app), *o));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace moonloop::cli
