-- A group has a row. Its work-items keep the first 1024 elements in registers, and read what is beyond
-- again in each loop.
local lib = require "moonloop.lib"
softmax = lib.keep(softmax, "x", "j, k, l", {lanes = 128, registers = 8})
softmax = lp.tag_inames(softmax, {r = "g.0"})
