#pragma once
#include <optional>

#include "cost/predict.h"

/// The cost model of ALPyNA, as its paper has it (D. Jacob et al., "Python programmers have GPUs
/// too: automatic Python loop parallelization with staged dependence analysis", DLS 2019, section
/// 3): relative costs that decide between a core and a GPU, in units of one interpreted statement.
///
///     T_cpu = sum over statements s of I_cpu * product of L(f)
///     T_gpu = C_xfer + sum of C_gpu(s)
///     C_gpu(s) = max(lambda_X, lambda_exec(s)) * I_gpu * product of L(f), f in D_seq
///              = (lambda_X + lambda_exec(s)) * I_gpu where D_seq is empty
///
/// L(f) is the number of iterations of loop f; D_seq are the host's loops around a launch. Nothing
/// of it is corrected: lambda_exec falls where a block is only just begun.
namespace moonloop::cost {

struct AcmMachine {
  double f_cpu = 1, f_gpu = 1;    // clocks, in one unit
  double lc_cpu = 1, lc_gpu = 1;  // last level caches, in one unit
  double units = 1;               // u: streaming multiprocessors
  double schedulers = 4;          // v: of warps, in a unit
  double warp = 32;               // w: work-items of a warp
  double caches = 2;              // of the first level, in a unit
  double mu = 1;                  // I_int / I_cpu
  double lambda_x = 0;            // the work below which launches bound, in statements of the GPU
  double transfer = 0;            // bytes in the time of an interpreted statement; 0: none are made
  double statement = 1;           // seconds of an interpreted statement
};

/// I_cpu / I_gpu, equation 12.
double acm_psi(const AcmMachine& m);
/// Equation 6: `groups` blocks, `parallel` iterations of loops on the GPU's grid, `serial` ones of
/// loops inside of a work-item.
double acm_lambda_exec(const AcmMachine& m, double groups, double parallel, double serial);
/// Equation 9, without I_gpu. `sequential`: iterations of the host's loops; none: nothing.
double acm_gpu_cost(const AcmMachine& m, double lambda_exec, std::optional<double> sequential);

/// The machine that two profiles describe. An interpreted statement is what a core does in a cycle,
/// so that mu is 1; lambda_X is the launch in statements of the GPU, and 10% more.
AcmMachine acm_machine(const MachineProfile& host, const MachineProfile& gpu);

/// The time by this model. For a target that is not a device only the host's part of `m` counts.
Prediction predict_acm(const Work& work, const Integers& params, const AcmMachine& m,
                       const PredictOptions& options = {});

}  // namespace moonloop::cost
