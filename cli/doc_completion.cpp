#include <algorithm>

#include "cli/documentation.h"
#include "core/base/diagnostic.h"

/// Scripts that complete the command line in bash, zsh and fish. The value of an option decides
/// what is offered: its choices, files with the ending of its value's name, folders.
namespace moonloop::cli {
namespace {

using Strings = std::vector<std::string>;

/// The possible words at a place of the command line.
struct Offer {
  enum class Kind { Nothing, Words, Files, Folders, ArrayFile } kind = Kind::Nothing;
  Strings words;  // choices, or the endings of files; no endings: any file
};

Strings doc_names(const Documentation& d) {
  Strings out;
  for (const DocCommand& c : d.commands) out.push_back(c.name);
  for (const DocFunction& f : d.transforms) out.push_back(f.name);
  for (const DocFunction& f : d.library) out.push_back(f.name);
  for (const Topic& t : d.topics) out.push_back(t.name);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Offer offer(const Documentation& d, const DocOption& o) {
  using Kind = Offer::Kind;
  static const Strings kInputs{"loop", "lua", "f90", "F90", "f95", "F95", "f03",
                               "F03",  "f08", "F08", "f",   "F",   "for", "ftn"};
  if (o.name == "INPUT" || o.name == "MORE") return {Kind::Files, kInputs};
  if (o.name == "NAME") return {Kind::Words, doc_names(d)};
  if (!o.choices.empty()) return {Kind::Words, o.choices};
  if (o.value == "ARRAY=FILE") return {Kind::ArrayFile, {"npy"}};
  if (o.value == "FOLDER") return {Kind::Folders, {}};
  if (o.value == "BUILD") return {Kind::Files, {"json"}};
  if (o.value == "FILE" || o.name == "FILE") return {Kind::Files, {}};
  if (o.value.starts_with("FILE.")) return {Kind::Files, {o.value.substr(5)}};
  return {};
}

Strings flags_of(const std::vector<DocOption>& options) {
  Strings out;
  for (const DocOption& o : options) out.insert(out.end(), o.flags.begin(), o.flags.end());
  return out;
}

std::string words(const Strings& all) { return fmt::format("{}", fmt::join(all, " ")); }

// ---- bash ---------------------------------------------------------------------------------------

std::string bash_offer(const Offer& o) {
  switch (o.kind) {
    case Offer::Kind::Nothing: return ":";
    case Offer::Kind::Words: return "_moonloop_words '" + words(o.words) + "'";
    case Offer::Kind::Files:
      return o.words.empty() ? "_moonloop_files" : "_moonloop_files " + words(o.words);
    case Offer::Kind::Folders: return "_moonloop_folders";
    case Offer::Kind::ArrayFile: return "[[ ! $assigned ]] || _moonloop_files " + words(o.words);
  }
  throw InternalError("unknown kind of completion");
}

constexpr const char* kBashHead =
    R"(# Completions of moonloop for bash, made by `moonloop doc --completion bash`.

_moonloop_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_moonloop_folders() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}
# Files with one of the given endings, or any file; and folders on the way to them.
_moonloop_files() {
  local ending
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(
    if (($# == 0)); then
      compgen -f -- "$cur"
    else
      for ending in "$@"; do compgen -f -X "!*.$ending" -- "$cur"; done
      compgen -d -- "$cur"
    fi
  )
}

_moonloop() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word assigned=
  # `=` is a word of its own: --target=c is three words, --in a=a.npy four.
  if [[ $cur == "=" ]]; then
    cur= assigned=$COMP_CWORD
  elif [[ $prev == "=" ]]; then
    assigned=$((COMP_CWORD - 1))
  fi
  if [[ $assigned ]]; then
    prev=${COMP_WORDS[assigned-1]}
    [[ $prev == -* ]] || prev=${COMP_WORDS[assigned-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      -*) ;;
      *) command=$word; break ;;
    esac
  done
  COMPREPLY=()
  case $command in
)";

std::string bash(const Documentation& d) {
  std::string out = kBashHead;
  Strings names;
  for (const DocCommand& c : d.commands) names.push_back(c.name);
  const Strings first = flags_of(d.options);
  out +=
      fmt::format("    '')\n      _moonloop_words '{} {}'\n      ;;\n", words(names), words(first));
  for (const DocCommand& c : d.commands) {
    out += fmt::format("    {})\n      case $prev in\n", c.name);
    Offer rest, action;  // `action` is the second word where others follow it
    for (const DocOption& o : c.options) {
      if (o.flags.empty() && rest.kind == Offer::Kind::Words) action = rest;
      if (o.flags.empty()) rest = offer(d, o);
      if (o.value.empty()) continue;
      if (o.flags.empty()) continue;
      out += fmt::format("        {}) {}; return ;;\n", fmt::join(o.flags, "|"),
                         bash_offer(offer(d, o)));
    }
    out +=
        fmt::format("      esac\n      if [[ $cur == -* ]]; then\n        _moonloop_words '{}'\n",
                    words(flags_of(c.options)));
    if (action.kind != Offer::Kind::Nothing)
      out += fmt::format("      elif ((COMP_CWORD == 2)); then\n        {}\n", bash_offer(action));
    if (rest.kind != Offer::Kind::Nothing)
      out += fmt::format("      else\n        {}\n", bash_offer(rest));
    out += "      fi\n      ;;\n";
  }
  return out + "  esac\n}\ncomplete -F _moonloop moonloop\n";
}

// ---- zsh ----------------------------------------------------------------------------------------

/// Text inside of a single-quoted specification of `_arguments`.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_offer(const Offer& o) {
  switch (o.kind) {
    case Offer::Kind::Nothing: return " ";
    case Offer::Kind::Words: return "(" + words(o.words) + ")";
    case Offer::Kind::Files:
      return o.words.empty() ? "_files"
                             : fmt::format("_files -g \"*.({})\"", fmt::join(o.words, "|"));
    case Offer::Kind::Folders: return "_files -/";
    case Offer::Kind::ArrayFile:
      return fmt::format("{{compset -P \"*=\" && _files -g \"*.({})\"}}", fmt::join(o.words, "|"));
  }
  throw InternalError("unknown kind of completion");
}

/// `'(-t --transform)'{-t,--transform}'[help]:FILE.lua:_files -g "*.lua"'`
std::string zsh_option(const Documentation& d, const DocOption& o) {
  const std::string what =
      o.flags.empty() ? fmt::format("':{}:{}'", o.name, zsh_offer(offer(d, o))) : std::string();
  if (!what.empty()) return what;
  std::string flags;
  for (const std::string& f : o.flags) flags += (flags.empty() ? "" : ",") + f;
  std::string out = o.repeatable ? "'*'" : fmt::format("'({})'", words(o.flags));
  out += o.flags.size() > 1 ? "{" + flags + "}" : flags;
  out += fmt::format("'[{}]", zsh_text(o.help));
  if (!o.value.empty()) out += fmt::format(":{}:{}", zsh_text(o.value), zsh_offer(offer(d, o)));
  return out + "'";
}

std::string zsh(const Documentation& d) {
  std::string out =
      "#compdef moonloop\n# Completions of moonloop for zsh, made by `moonloop doc --completion "
      "zsh`.\n\n_moonloop() {\n  local -a commands\n  commands=(\n";
  for (const DocCommand& c : d.commands)
    out += fmt::format("    '{}:{}'\n", c.name, zsh_text(c.summary));
  out +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe -t commands command commands\n    "
      "_arguments";
  for (const DocOption& o : d.options) out += " \\\n      " + zsh_option(d, o);
  out += "\n    return\n  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n";
  for (const DocCommand& c : d.commands) {
    out += fmt::format("    {})\n      _arguments -s", c.name);
    for (const DocOption& o : c.options) out += " \\\n        " + zsh_option(d, o);
    out += "\n      ;;\n";
  }
  return out +
         "  esac\n}\n\nif [[ $funcstack[1] == _moonloop ]]; then\n  _moonloop \"$@\"\nelse\n"
         "  compdef _moonloop moonloop\nfi\n";
}

// ---- fish ---------------------------------------------------------------------------------------

std::string fish_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

/// The arguments of `complete` for what may follow.
std::string fish_offer(const Offer& o) {
  switch (o.kind) {
    case Offer::Kind::Nothing: return " -x";
    case Offer::Kind::Words: return " -x -a " + fish_text(words(o.words));
    case Offer::Kind::Files:
    case Offer::Kind::ArrayFile: {
      if (o.words.empty()) return " -r -F";
      std::string out;
      for (const std::string& ending : o.words)
        out += (out.empty() ? "" : "; ") + ("__fish_complete_suffix ." + ending);
      return " -x -k -a " + fish_text("(" + out + ")");
    }
    case Offer::Kind::Folders: return " -x -a '(__fish_complete_directories)'";
  }
  throw InternalError("unknown kind of completion");
}

std::string fish_option(const Documentation& d, const DocOption& o, const std::string& when) {
  std::string out = "complete -c moonloop -n " + fish_text(when);
  for (const std::string& f : o.flags)
    out += f.starts_with("--") ? " -l " + f.substr(2) : " -s " + f.substr(1);
  if (!o.value.empty() || o.flags.empty()) {
    std::string rest = fish_offer(offer(d, o));
    if (o.flags.empty() && rest.starts_with(" -x")) rest = " -f" + rest.substr(3);
    out += rest;
  }
  return out + " -d " + fish_text(o.help) + "\n";
}

std::string fish(const Documentation& d) {
  std::string out =
      "# Completions of moonloop for fish, made by `moonloop doc --completion fish`.\n\n"
      "complete -c moonloop -f\n";
  for (const DocOption& o : d.options) out += fish_option(d, o, "__fish_use_subcommand");
  for (const DocCommand& c : d.commands)
    out += fmt::format("complete -c moonloop -n __fish_use_subcommand -a {} -d {}\n", c.name,
                       fish_text(c.summary));
  for (const DocCommand& c : d.commands) {
    out += "\n";
    for (const DocOption& o : c.options)
      out += fish_option(d, o, "__fish_seen_subcommand_from " + c.name);
  }
  return out;
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const Strings kShells{"bash", "zsh", "fish"};
  return kShells;
}

std::string doc_completion(const Documentation& d, const std::string& shell) {
  if (shell == "bash") return bash(d);
  if (shell == "zsh") return zsh(d);
  if (shell == "fish") return fish(d);
  throw InternalError("unknown shell");
}

}  // namespace moonloop::cli
