#pragma once
#include <optional>
#include <string>

#include "codegen/codegen.h"
#include "cost/machine_profile.h"
#include "runtime/device.h"

/// Machine profiles, kept in files of the cache's folder.
namespace moonloop {

/// The name of the machine that a target's code runs on: that of device number `n`, see
/// open_device(); for the host the processor's model. Fails `no-device`.
std::string profile_name(Target target, int n);

/// `profiles/NAME.json` below the cache's folder, with other characters of the name as `_` and a
/// part of the name's hash; hosts and devices of one name have a file each. Empty: no folder.
std::string profile_path(Target target, const std::string& name);
/// The profile that is kept for the machine. Fails `bad-profile` when its file is none.
std::optional<cost::MachineProfile> kept_profile(Target target, const std::string& name);
/// Keeps it; returns the file's path. Fails `cannot-write`.
std::string keep_profile(Target target, const cost::MachineProfile& p);

/// What the device tells of itself.
cost::MachineFacts facts_of(const Device& device);
/// The profile to predict with: the kept one, else one of what the system tells. `machine` is the
/// name of a machine with a kept profile or the path of a profile (`*.json`), and then no device is
/// needed; `assumed` is a usual processor or a small GPU, the same everywhere; empty: device number
/// `n`. A target whose device is missing has a profile too, that of a small GPU, whose name says
/// so. Fails `no-profile` for an unknown name, `bad-profile`.
cost::MachineProfile profile_for(Target target, int n, const std::string& machine = {});

}  // namespace moonloop
