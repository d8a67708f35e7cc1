local lib = require "moonloop.lib"
local how = {items = lp.args.items, each = lp.args.each}
segments_float32 = lib.scan(segments_float32, "add", "i", how)
segments_float64 = lib.scan(segments_float64, "add", "i", how)
segments_int32 = lib.scan(segments_int32, "add", "i", how)
