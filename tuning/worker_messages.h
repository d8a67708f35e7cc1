#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuning/bench.h"

/// What a search and its workers write to each other: lines of JSON, each an object.
///
/// The search writes a task, then orders; the worker writes one reply to the task, and one to each
/// order to measure. docs/tuning.md lists the members. Reading fails `bad-message`: no JSON, and
/// members that are unknown, missing or not of their kind.
namespace moonloop::tuning {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// A script or a kernel's text; files are those that it loads, by their paths from its folder on.
struct TaskFile {
  std::string name, text;
  NamedTexts files = {};
};

/// What is tuned.
struct WorkerTask {
  std::string version;  // of Moonloop
  std::string kernel;   // the name of the one that is meant
  std::string kernel_hash, script_hash;
  TaskFile input;
  std::vector<TaskFile> scripts;
  std::string target;
  NamedTexts params, settings, knobs;  // as on the command line
  bool trust = false;
  double seconds = 0, memory = 0;  // limits that the user gave; 0: none
};

enum class OrderKind { Measure, Lead, Limit, Cancel };

struct WorkerOrder {
  OrderKind kind = OrderKind::Measure;
  std::size_t number = 0;  // of what is to be measured
  KnobValues knobs;        // of that, or of the leader
  bool verify = true;
  double seconds = 0;  // the leader's, or the limit
  /// Files that scripts load, where the worker does not have them: the script's number, 0 for the
  /// input.
  std::vector<std::pair<std::size_t, std::pair<std::string, std::string>>> files;
};

struct WorkerReply {
  std::optional<Place> ready;  // to the task
  std::size_t room = 0;        // jobs at the same time
  std::optional<Answer> answer;
  std::string code, error;  // why the worker ends
};

/// Without the line's end.
std::string to_line(const WorkerTask& t);
std::string to_line(const WorkerOrder& o);
std::string to_line(const WorkerReply& r);
WorkerTask parse_task(const std::string& line);
WorkerOrder parse_order(const std::string& line);
WorkerReply parse_reply(const std::string& line);

}  // namespace moonloop::tuning
