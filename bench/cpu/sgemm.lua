local lib = require "moonloop.lib"
sgemm = lib.packed_product(sgemm, {i = 8, j = 48, k = 512}, "k", {tag = "par"})
