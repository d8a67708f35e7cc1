local lib = require "moonloop.lib"
local how = {items = lp.args.items, each = lp.args.each}
scan_float32 = lib.scan(scan_float32, "add", "i", how)
scan_float64 = lib.scan(scan_float64, "add", "i", how)
scan_int32 = lib.scan(scan_int32, "add", "i", how)
