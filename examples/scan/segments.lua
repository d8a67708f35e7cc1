local lib = require "moonloop.lib"
segments = lib.scan(segments, "add", "i", {items = 32, each = 4, start_items = 32})
