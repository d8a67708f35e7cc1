-- sums in the lanes of four vectors, a row for its passes in the first cache
local lib = require "moonloop.lib"
layernorm = lib.add_in_lanes(layernorm, "j", 64, {length = "n"})
layernorm = lib.add_in_lanes(layernorm, "k", 64, {length = "n"})
layernorm = lp.split_iname(layernorm, "r", 8, {outer_tag = "par"})
layernorm = lp.tag_inames(layernorm, {l = "simd"})
