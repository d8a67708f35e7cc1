#include "scripts/complete.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "transforms/registry.h"

namespace moonloop {
namespace {

using Words = std::vector<std::string>;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

void append(Words& to, const Words& from) { to.insert(to.end(), from.begin(), from.end()); }

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// ---- The text before the cursor ---------------------------------------------------------------

/// An open bracket.
struct Frame {
  char bracket;
  std::string
      callee;  // whose arguments it holds: `lp.split_iname`, `k:tag_inames`; empty: not a call
  int commas = 0;
  std::string key;  // of the element that the cursor is in, in a table
};

/// The Lua text before the cursor, as far as completion cares.
struct Context {
  std::vector<Frame> open;
  char quote = 0;               // the string that the cursor is in, if any
  std::size_t string_from = 0;  // its first character
  std::string string_callee;    // of `f"..."`
  bool comment = false;
};

/// The name, with its prefix, that ends at `end`: `lp.split_iname`.
std::string path_before(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t from = end;
  while (from > 0 && (in_name(text[from - 1]) || text[from - 1] == '.' || text[from - 1] == ':'))
    --from;
  return std::string(text.substr(from, end - from));
}

Context context_of(std::string_view text) {
  Context c;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char x = text[i];
    if (c.quote) {
      if (x == '\\')
        ++i;
      else if (x == c.quote)
        c.quote = 0;
    } else if (x == '"' || x == '\'') {
      c.quote = x;
      c.string_from = i + 1;
      c.string_callee = path_before(text, i);
    } else if (x == '-' && text.substr(i, 2) == "--") {
      c.comment = true;
      return c;
    } else if (x == '(' || x == '{' || x == '[') {
      c.open.push_back({x, x == '[' ? "" : path_before(text, i), 0, {}});
    } else if ((x == ')' || x == '}' || x == ']') && !c.open.empty()) {
      c.open.pop_back();
    } else if (x == ',' && !c.open.empty()) {
      ++c.open.back().commas;
      c.open.back().key.clear();
    } else if (x == '=' && !c.open.empty() && c.open.back().bracket == '{') {
      c.open.back().key = path_before(text, i);
    }
  }
  return c;
}

// ---- Candidates -------------------------------------------------------------------------------

const Kernel* kernel_of(const Vocabulary& v, const std::string& callee) {
  const std::string object = callee.substr(0, callee.find_first_of(".:"));
  auto it = v.kernels.find(object);
  if (it == v.kernels.end()) it = v.kernels.find(v.current);
  return it == v.kernels.end() ? nullptr : it->second.get();
}

Words rules_of(const Kernel& k) {
  Words out;
  for (const Rule& r : k.rules) out.push_back(r.name);
  return out;
}

Words variables_of(const Kernel& k) {
  Words out;
  for (const Argument& a : k.args) out.push_back(a.name);
  for (const auto& entry : k.temporaries) out.push_back(entry.first);
  return out;
}

Words instruction_tags(const Kernel& k) {
  Words out;
  for (const InsnPtr& insn : k.instructions)
    out.insert(out.end(), insn->tags.begin(), insn->tags.end());
  return out;
}

/// `id:`, `tag:` and similar prefixes, and the words for each.
Words match_words(const Kernel& k, const std::string& before_word) {
  if (before_word.ends_with("id:")) return k.instruction_ids();
  if (before_word.ends_with("tag:")) return instruction_tags(k);
  if (before_word.ends_with("iname:")) return k.inames();
  if (before_word.ends_with("reads:") || before_word.ends_with("writes:")) return variables_of(k);
  Words out{"id:", "tag:", "reads:", "writes:", "iname:", "and", "or", "not"};
  append(out, rules_of(k));
  append(out, k.instruction_ids());
  return out;
}

/// The words for a string for the parameter; `before` is the string up to the word.
Words words_for(const Kernel& k, const Param* p, const std::string& before) {
  static const Words kSpaces{"auto", "private", "local", "global"};
  Words everything = k.inames();
  append(everything, k.instruction_ids());
  append(everything, rules_of(k));
  append(everything, variables_of(k));
  if (!p) {
    append(everything, common_tags());
    return everything;
  }
  const std::string& n = p->name;
  if (p->kind == Kind::Match) return match_words(k, before);
  if (p->kind == Kind::Tags) return before.ends_with(':') ? common_tags() : k.inames();
  if (n == "tag" || n.ends_with("_tag")) return common_tags();
  if (has(n, "space") || has(n, "scope")) return kSpaces;
  if (has(n, "iname") || n == "loop_priority") return k.inames();
  if (has(n, "rule") || has(n, "subst")) return rules_of(k);
  if (has(n, "insn")) return k.instruction_ids();
  if (has(n, "var") || has(n, "ary") || has(n, "array") || has(n, "temporary") || n == "names")
    return variables_of(k);
  return everything;
}

/// Files and folders that begin as `path` does; folders end in a slash.
Words files_like(const std::string& path) {
  namespace fs = std::filesystem;
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  Words out;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder.empty() ? "." : folder, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(".") && path.size() == folder.size()) continue;
    std::error_code none;
    out.push_back(folder + name + (it->is_directory(none) ? "/" : ""));
  }
  return out;
}

Words scalars_with_equals(const Kernel* k) {
  Words out;
  if (k)
    for (const Argument& a : k->args)
      if (!a.is_array) out.push_back(a.name + "=");
  return out;
}

/// The transform that a call's arguments are of, and which of its parameters come positionally.
struct OpCall {
  const Op* row = nullptr;
  bool takes_kernel = false;  // its first argument is the kernel: `lp.split_iname(`
};

OpCall op_of(const std::string& callee) {
  const auto at = callee.find_last_of(".:");
  const Op* op = find_op(at == std::string::npos ? callee : callee.substr(at + 1));
  if (op && !op->alias_of.empty() && op->params.empty()) op = find_op(op->alias_of);
  return {op, callee.starts_with("lp.")};
}

const Param* positional(const OpCall& call, int number) {
  if (call.takes_kernel) --number;
  for (const Param& p : call.row->params)
    if (p.positional && number-- == 0) return &p;
  return nullptr;
}

/// The innermost call of a transform that the cursor is in, and the parameter; `table` is the table
/// within its arguments, if any.
struct Place {
  OpCall call;
  const Param* param = nullptr;
  const Frame* table = nullptr;
  std::string callee;
};

Place place_of(const Context& c) {
  Place out;
  for (std::size_t i = c.open.size(); i-- > 0;) {
    const Frame& f = c.open[i];
    out.call = op_of(f.callee);
    if (!out.call.row) continue;
    out.callee = f.callee;
    if (f.bracket == '{')
      out.table = &f;
    else if (i + 1 < c.open.size() && c.open[i + 1].bracket == '{')
      out.table = &c.open[i + 1];
    out.param = positional(out.call, f.bracket == '{' ? (out.call.takes_kernel ? 1 : 0) : f.commas);
    if (out.table && !out.table->key.empty())
      for (const Param& p : out.call.row->params)
        if (p.name == out.table->key) out.param = &p;
    return out;
  }
  return out;
}

/// Only words that begin with the typed text.
Completion chosen(Words words, std::size_t from, const std::string& typed) {
  std::erase_if(words, [&](const std::string& w) { return !w.starts_with(typed); });
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return {from, std::move(words)};
}

// ---- Commands, strings, names -----------------------------------------------------------------

Completion complete_command(const std::string& text, const Vocabulary& v) {
  const auto blank = text.find(' ');
  if (blank == std::string::npos) {
    Words names;
    for (const CommandWords& c : v.commands) names.push_back(c.name);
    return chosen(std::move(names), 0, text);
  }
  const auto row = std::find_if(v.commands.begin(), v.commands.end(), [&](const CommandWords& c) {
    return c.name == text.substr(0, blank);
  });
  if (row == v.commands.end()) return {text.size(), {}};
  const auto current = v.kernels.find(v.current);
  const Kernel* k = current == v.kernels.end() ? nullptr : current->second.get();
  std::size_t from = text.rfind(' ') + 1;
  std::string typed = text.substr(from);
  Words words;
  switch (row->takes) {
    case Takes::Nothing: break;
    case Takes::Target: words = v.targets; break;
    case Takes::TargetOrFile:
      words = files_like(typed);
      append(words, v.targets);
      break;
    case Takes::Ids:
      if (k) words = k->instruction_ids();
      break;
    case Takes::Point:
      words = v.branches;
      for (const auto& [name, kernel] : v.kernels) words.push_back(name);
      break;
    case Takes::File: words = files_like(typed); break;
    case Takes::Topic:
      words = v.topics;
      for (const Op* op : all_ops()) words.push_back(op->name);
      for (const CommandWords& c : v.commands) words.push_back(c.name);
      break;
    case Takes::OnOff: words = {"on", "off"}; [[fallthrough]];
    case Takes::Parameters: append(words, scalars_with_equals(k)); break;
    case Takes::Settings:
      if (typed.starts_with("target=")) {
        from += 7, typed = typed.substr(7), words = v.targets;
      } else {
        for (const std::string& s : v.settings) words.push_back(s + "=");
        append(words, scalars_with_equals(k));
      }
      break;
  }
  return chosen(std::move(words), from, typed);
}

Completion complete_string(const std::string& text, const Context& c, const Vocabulary& v) {
  const Place place = place_of(c);
  std::string callee = c.string_callee;
  if (callee.empty() && !c.open.empty()) callee = c.open.back().callee;
  for (const char* loader : {"dofile", "loadfile", "lp.load", "io.open", "io.lines"})
    if (callee == loader) {
      const std::string typed = text.substr(c.string_from);
      return chosen(files_like(typed), c.string_from, typed);
    }
  std::size_t from = text.size();
  while (from > c.string_from && (in_name(text[from - 1]) || text[from - 1] == '.')) --from;
  const std::string typed = text.substr(from);
  const std::string before = text.substr(c.string_from, from - c.string_from);
  OpCall call = op_of(c.string_callee);  // `k:tag_inames"i:g.0"`
  const Param* param = place.param;
  if (call.row) param = positional(call, call.takes_kernel ? 1 : 0);
  const Kernel* k = kernel_of(v, call.row ? c.string_callee : place.callee);
  if (!k) return {from, {}};
  // A name in a table of tags is followed by a tag.
  if (param && param->kind == Kind::Tags && place.table && !place.table->key.empty() &&
      place.table->key != param->name)
    return chosen(common_tags(), from, typed);
  return chosen(words_for(*k, call.row || place.call.row ? param : nullptr, before), from, typed);
}

Completion complete_name(const std::string& text, const Context& c, const Vocabulary& v) {
  std::size_t from = text.size();
  while (from > 0 && in_name(text[from - 1])) --from;
  const std::string typed = text.substr(from);
  if (!typed.empty() && std::isdigit(static_cast<unsigned char>(typed[0]))) return {from, {}};
  Words ops;
  for (const Op* op : all_ops()) ops.push_back(op->name);

  if (from > 0 && (text[from - 1] == '.' || text[from - 1] == ':') &&
      !text.substr(0, from).ends_with("..")) {
    const std::string object = path_before(text, from - 1);
    Words words;
    if (const auto table = v.members.find(object); table != v.members.end()) {
      words = table->second;
    } else if (v.kernels.count(object) || text[from - 1] == ':') {
      words = v.kernel_members;
      append(words, ops);
    }
    return chosen(std::move(words), from, typed);
  }

  const Place place = place_of(c);
  const auto last = text.find_last_not_of(' ', from == 0 ? 0 : from - 1);
  const bool at_key =
      from > 0 && last != std::string::npos && (text[last] == '{' || text[last] == ',');
  if (place.call.row && place.table && at_key) {
    Words words;
    for (const Param& p : place.call.row->params) words.push_back(p.name + " = ");
    if (const Kernel* k = kernel_of(v, place.callee)) {
      if (place.param && place.param->kind == Kind::Tags)
        for (const std::string& i : k->inames()) words.push_back(i + " = ");
      if (place.param && (place.param->kind == Kind::Numbers || place.param->kind == Kind::Reals))
        for (const Argument& a : k->args)
          if (!a.is_array) words.push_back(a.name + " = ");
    }
    return chosen(std::move(words), from, typed);
  }
  Words words{"and", "break",    "do",     "else", "elseif", "end",   "false",
              "for", "function", "if",     "in",   "local",  "nil",   "not",
              "or",  "repeat",   "return", "then", "true",   "until", "while"};
  append(words, v.globals);
  if (!v.current.empty()) append(words, ops);
  return chosen(std::move(words), from, typed);
}

}  // namespace

Completion complete(const std::string& line, std::size_t cursor, const Vocabulary& v) {
  const std::string text = line.substr(0, cursor);
  if (text.starts_with(":") && !text.starts_with("::")) return complete_command(text, v);
  const Context c = context_of(text);
  if (c.comment) return {text.size(), {}};
  return c.quote ? complete_string(text, c, v) : complete_name(text, c, v);
}

}  // namespace moonloop
