#include <algorithm>

#include "cli/documentation.h"
#include "core/base/diagnostic.h"

/// Manual pages in roff, with the macros of man(7).
namespace moonloop::cli {
namespace {

/// Text as roff takes it: code in backticks is bold, a line never begins as a request.
std::string roff(const std::string& text) {
  std::string out;
  bool bold = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const bool starts_line = out.empty() || out.back() == '\n';
    if (c == '`') {
      out += starts_line ? "\\&" : "";
      out += (bold = !bold) ? "\\fB" : "\\fR";
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (starts_line && (c == '.' || c == '\'')) {
      out += "\\&" + std::string(1, text[i]);
    } else if (text.compare(i, 3, "…") == 0) {
      out += "...";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string head(const std::string& name, const std::string& summary) {
  return fmt::format(".TH {} 1 \"\" \"moonloop {}\" \"Moonloop\"\n.SH NAME\n{} \\- {}\n",
                     upper(roff(name)), MOONLOOP_VERSION, roff(name), roff(summary));
}

bool same(const DocOption& a, const DocOption& b) {
  return a.flags == b.flags && a.name == b.name && a.help == b.help && a.value == b.value;
}
bool has(const std::vector<DocOption>& all, const DocOption& o) {
  return std::any_of(all.begin(), all.end(), [&](const DocOption& e) { return same(e, o); });
}

std::string option_text(const DocOption& o) {
  std::string out = ".TP\n";
  if (o.flags.empty()) {
    out += italic(o.name);
  } else {
    for (std::size_t i = 0; i < o.flags.size(); ++i) out += (i ? ", " : "") + bold(o.flags[i]);
    if (!o.value.empty()) out += " " + italic(o.value);
  }
  out += "\n" + roff(o.help) + ".";
  const bool told = std::all_of(o.choices.begin(), o.choices.end(), [&](const std::string& c) {
    return o.help.find(c) != std::string::npos;
  });
  if (!told) {
    out += "\nOne of ";
    for (std::size_t i = 0; i < o.choices.size(); ++i) out += (i ? ", " : "") + bold(o.choices[i]);
    out += ".";
  }
  if (!o.fallback.empty()) out += "\nDefault: " + bold(o.fallback) + ".";
  return out + "\n";
}

std::string synopsis(const DocCommand& c) {
  std::string out = bold("moonloop") + " " + bold(c.name) + " [" + italic("options") + "]";
  for (const DocOption& o : c.options)
    if (o.flags.empty()) out += o.required ? " " + italic(o.name) : " [" + italic(o.name) + "]";
  return out;
}

/// Options that each command has.
std::vector<DocOption> common_options(const Documentation& d) {
  std::vector<DocOption> out;
  for (const DocOption& o : d.commands.front().options)
    if (!o.flags.empty() && std::all_of(d.commands.begin(), d.commands.end(),
                                        [&](const DocCommand& c) { return has(c.options, o); }))
      out.push_back(o);
  return out;
}

std::string ending(const Documentation& d) {
  constexpr std::string_view kStatus = "Exit status: ";
  std::string out;
  if (d.footer.starts_with(kStatus))
    out += ".SH EXIT STATUS\n" + roff(d.footer.substr(kStatus.size())) + "\n";
  std::string variables;
  for (const Topic& t : d.topics)
    if (t.group == kEnvironmentTopics)
      variables += fmt::format(".TP\n{}\n{}\n", bold(t.name), roff(t.text));
  return out + ".SH ENVIRONMENT\n" + variables;
}

std::string page_of_all(const Documentation& d) {
  std::string summary = d.summary;
  if (summary.ends_with(".")) summary.pop_back();
  const std::vector<DocOption> common = common_options(d);
  std::string out = head("moonloop", summary) + ".SH SYNOPSIS\n";
  for (const DocCommand& c : d.commands)
    out += (&c == &d.commands.front() ? "" : ".br\n") + synopsis(c) + "\n";
  out += ".SH COMMANDS\n";
  for (const DocCommand& c : d.commands) {
    out += ".SS " + roff(c.name) + "\n" + roff(c.summary) + ".\n";
    for (const DocOption& o : c.options)
      if (!has(common, o)) out += option_text(o);
  }
  out += ".SH OPTIONS\nOf each command:\n";
  for (const DocOption& o : common) out += option_text(o);
  out += ending(d) + ".SH SEE ALSO\n";
  for (const DocCommand& c : d.commands)
    out += bold("moonloop-" + c.name) + (&c == &d.commands.back() ? "(1)\n" : "(1),\n");
  return out;
}

std::string page_of(const Documentation& d, const DocCommand& c) {
  std::string out =
      head("moonloop-" + c.name, c.summary) + ".SH SYNOPSIS\n" + synopsis(c) + "\n.SH OPTIONS\n";
  for (const DocOption& o : c.options) out += option_text(o);
  return out + ending(d) + ".SH SEE ALSO\n" + bold("moonloop") + "(1)\n";
}

}  // namespace

std::string doc_man(const Documentation& d, const std::string& command) {
  if (command.empty() || command == "moonloop") return page_of_all(d);
  std::vector<std::string> names;
  for (const DocCommand& c : d.commands) {
    if (c.name == command) return page_of(d, c);
    names.push_back(c.name);
  }
  fail("unknown-topic", {}, "no manual page of `{}`; there are those of {}", command,
       quoted_list(names));
}

}  // namespace moonloop::cli
