#include "cli/documentation.h"
#include "core/base/diagnostic.h"

/// docs/reference.md.
namespace moonloop::cli {
namespace {

std::string code_block(std::string text) {
  while (text.ends_with("\n")) text.pop_back();
  std::string out = "    ";
  for (const char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  for (std::size_t at = 0; (at = out.find("\n    \n", at)) != std::string::npos; ++at)
    out.erase(at + 1, 4);  // no blanks on empty lines
  return out + "\n";
}

/// In a cell of a table a bar ends the cell.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string function_text(const DocFunction& f) {
  std::string out = fmt::format("### `{}`\n\n`{}`\n\n{}\n", f.name, signature(f), f.doc);
  if (!f.alias_of.empty()) out += fmt::format("\nThe same as `{}`.\n", f.alias_of);
  if (!f.params.empty()) out += "\n| parameter | kind | default | |\n|---|---|---|---|\n";
  for (const DocParam& p : f.params)
    out += fmt::format("| `{}` | {} | {} | {} |\n", p.name, p.kind,
                       p.required           ? "required"
                       : p.fallback.empty() ? ""
                                            : "`" + p.fallback + "`",
                       cell(p.help));
  if (f.results.size() > 1) {
    out += "\nGives";
    const char* comma = " ";
    for (const DocResult& r : f.results) {
      out += fmt::format("{}`{}`, {}", comma, r.name, r.help);
      comma = "; ";
    }
    out += ".\n";
  }
  if (f.alias_of.empty() && !f.example.empty())
    out += fmt::format("\n{}\n{}\n", code_block(f.example_kernel), code_block(f.example));
  return out + "\n";
}

}  // namespace

std::string doc_markdown(const Documentation& d) {
  std::string out =
      "# Reference\n\n"
      "Made by `moonloop doc --markdown` from the tables that make the bindings and the command\n"
      "line; a test compares it with them.\n\n## Commands\n\n";
  for (const DocCommand& c : d.commands)
    out += fmt::format("### `{}`\n\n```\n{}```\n\n", c.name, c.help);
  out +=
      "## Transforms\n\nThe kernel comes first; a method call has it before the colon. "
      "Parameters in braces, and\nany other by its name, go in one trailing table.\n\n";
  for (const DocFunction& f : d.transforms) out += function_text(f);
  out +=
      "## Library\n\nWritten in Lua on what every script can call (`scripts/lib`), and part of the "
      "program:\n`local lib = require \"moonloop.lib\"`. The kernel comes first; parameters in "
      "braces go in one\ntrailing table. What it does to a kernel is proved step by step, and the "
      "kernel's trace lists\nthe steps.\n\n";
  for (const DocFunction& f : d.library) out += function_text(f);
  std::string group;
  for (const Topic& t : d.topics) {
    if (t.group != group) out += fmt::format("## {}\n\n", group = t.group);
    out += fmt::format("### `{}`\n\n{}\n\n", t.name, t.text);
  }
  out.pop_back();
  return out;
}

}  // namespace moonloop::cli
