#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/topics.h"
#include "scripts/api.h"

/// All documentation of Moonloop, from its own tables: the registry, the library's doc comments,
/// the command line, the Lua table and the topics. Each form of documentation is printed from this.
namespace moonloop::cli {

struct DocParam {
  std::string name, kind, help;
  bool required = false;
  std::string fallback;  // the default, as text; empty: none
  bool positional = false;
};
struct DocResult {
  std::string name, kind, help;
};
struct DocFunction {
  std::string name, module;      // `split_iname` of `lp`, `tile` of `lib`
  std::string doc;               // first line: summary
  std::vector<DocParam> params;  // without the kernel, which comes first
  std::vector<DocResult> results;
  std::string example_kernel, example;
  std::string alias_of;  // the function that it is another name of

  std::string summary() const { return doc.substr(0, doc.find('\n')); }
};

struct DocOption {
  std::vector<std::string> flags;  // `-t`, `--transform`; none: positional
  std::string name;                // of a positional one, `INPUT`
  std::string value;               // the value after the flag, `FILE.lua`; empty: none
  std::vector<std::string> choices;
  std::string fallback, help;
  bool required = false, repeatable = false;
};
struct DocCommand {
  std::string name, summary;
  std::string help;  // what `--help` prints
  std::vector<DocOption> options;
};

struct Documentation {
  std::string summary, footer;
  std::vector<DocOption> options;  // ahead of a command
  std::vector<DocCommand> commands;
  std::vector<DocFunction> transforms, library;
  std::vector<ApiClass> api;
  std::vector<Topic> topics;
};

Documentation documentation(const CLI::App& app);

/// `lp.split_iname(knl, split_iname, inner_length, {outer_iname, …})`
std::string signature(const DocFunction& f);

// The outputs of `moonloop doc`, each in a file of its own.

std::string doc_markdown(const Documentation& d);
std::string doc_json(const Documentation& d);
/// Declarations for the Lua language server: of `lp` and kernels, or of the library. Fails
/// `unknown-topic` for other modules than `moonloop` and `moonloop.lib`; empty is `moonloop`.
std::string doc_stubs(const Documentation& d, const std::string& module);
/// A script for `bash`, `zsh` or `fish`.
std::string doc_completion(const Documentation& d, const std::string& shell);
const std::vector<std::string>& completion_shells();
/// A manual page in roff: moonloop(1), or of the command. Fails `unknown-topic` for no command.
std::string doc_man(const Documentation& d, const std::string& command);

}  // namespace moonloop::cli
