-- four rows side by side, each with the lanes of four vectors
local lib = require "moonloop.lib"
bilinear = lib.add_in_lanes(bilinear, "j", 32, {length = "n"})
bilinear = lp.split_iname(bilinear, "i", 4, {outer_tag = "par", inner_tag = "ilp", slabs = {0, 1}})
