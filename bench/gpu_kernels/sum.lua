local function spread(knl)
  knl = lp.tag_inames(knl, "g:g.0, l:l.0")
  return lp.split_iname(knl, "p", 1024, {inner_tag = "l.0"})
end
sum, dot, bilinear = spread(sum), spread(dot), spread(bilinear)
