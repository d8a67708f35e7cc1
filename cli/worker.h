#pragma once
#include <string>
#include <vector>

#include "cli/candidate.h"
#include "cli/options.h"
#include "tuning/worker_messages.h"

/// Work for other processes and machines: `moonloop tune --worker`, and what it is told.
namespace moonloop::cli {

/// Reads a task and orders from standard input, see tuning/worker_messages.h, measures on this
/// machine and replies on standard output. It ends with its input, when all orders are answered.
/// `own`: --device and --trust of the worker; a task with trust needs that of the worker.
int run_worker(const Common& own);

/// The task of a tuning with its defaults. Fortran goes as the text of its kernels, so that the
/// worker needs no Fortran.
tuning::WorkerTask task_of(const Common& common, const tuning::Candidate& defaults,
                           const UsedKnobs& used);

/// Compiler and flags of a target on this machine, and the name of its device.
tuning::Place place_here(Target target, int device);

}  // namespace moonloop::cli
