-- The cells of a diagonal in groups of 64; the host goes from diagonal to diagonal.
local lib = require "moonloop.lib"
edit = lib.wavefront(edit, "i", "j", {tag = false})
edit = lp.split_iname(edit, "i", 64, {outer_tag = "g.0", inner_tag = "l.0"})
