#pragma once
#include <map>
#include <string>
#include <vector>

#include "scripts/history.h"

/// Completion of a line of the interactive session.
namespace moonloop {

/// The kind of argument of a command.
enum class Takes {
  Nothing,
  Target,
  TargetOrFile,
  Ids,
  Point,
  File,
  Topic,
  Parameters,
  Settings,
  OnOff
};

struct CommandWords {
  std::string name;  // with its colon
  Takes takes;
};

/// All that can be completed to; a value, so that completion depends on nothing else.
struct Vocabulary {
  std::vector<CommandWords> commands;
  std::vector<std::string> topics, targets, settings;
  std::map<std::string, KernelPtr> kernels;  // by global
  std::string current;                       // a key of them
  std::vector<std::string> branches, globals, kernel_members;
  std::map<std::string, std::vector<std::string>> members;  // of tables that globals hold
};

struct Completion {
  std::size_t from = 0;            // where the word begins that a candidate replaces
  std::vector<std::string> words;  // sorted, each once
};

/// Candidates for the word of `line` that ends at `cursor`:
///
///     :sch            commands; then their arguments: targets, ids, branches, files, topics
///     mat             globals, and transforms, as methods of the current kernel
///     lp.spl  k:spl   functions; fields, methods and transforms of a kernel
///     {outer_         names of the options of the transform whose call this is
///     "i_             inside quotes: inames, ids, rules, variables, tags, as the parameter is;
///                     files for functions that take a path
Completion complete(const std::string& line, std::size_t cursor, const Vocabulary& v);

}  // namespace moonloop
