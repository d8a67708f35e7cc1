-- The library: `local lib = require "moonloop.lib"`. Each function is a file of its own, written on
-- what every script can call, so each is also an example of how to write another.
return setmetatable({
  add_in_lanes = require "moonloop.add_in_lanes",
  attempt = require "moonloop.attempt",
  for_all = require "moonloop.for_all",
  keep = require "moonloop.keep",
  packed_product = require "moonloop.packed_product",
  parallel_rows = require "moonloop.parallel_rows",
  pipeline = require "moonloop.pipeline",
  reduce = require "moonloop.reduce",
  register_block = require "moonloop.register_block",
  repeat_until = require "moonloop.repeat_until",
  scan = require "moonloop.scan",
  scan_in_blocks = require "moonloop.scan_in_blocks",
  skew = require "moonloop.skew",
  stage_in_local = require "moonloop.stage_in_local",
  tile = require "moonloop.tile",
  try_each = require "moonloop.try_each",
  unroll_and_jam = require "moonloop.unroll_and_jam",
  vectorize_inner = require "moonloop.vectorize_inner",
  wavefront = require "moonloop.wavefront",
  work_items = require "moonloop.work_items",
}, {
  __index = function(lib, name)
    local known = {}
    for each in pairs(lib) do known[#known + 1] = each end
    table.sort(known)
    error(("the library has no '%s'; it has %s"):format(name, table.concat(known, ", ")), 2)
  end,
})
