#include <nlohmann/json.hpp>

#include "cli/documentation.h"

/// `moonloop doc --json`: one object with all of the documentation, for other tools. Empty members
/// are left out.
namespace moonloop::cli {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& j, const char* key, const std::string& text) {
  if (!text.empty()) j[key] = text;
}

template <class List, class F>
Json list_of(const List& all, F one) {
  Json out = Json::array();
  for (const auto& e : all) out.push_back(one(e));
  return out;
}

Json option(const DocOption& o) {
  Json j;
  if (o.flags.empty())
    j["name"] = o.name;
  else
    j["flags"] = o.flags;
  put(j, "value", o.value);
  if (!o.choices.empty()) j["choices"] = o.choices;
  put(j, "default", o.fallback);
  if (o.required) j["required"] = true;
  if (o.repeatable) j["repeatable"] = true;
  j["help"] = o.help;
  return j;
}

Json command(const DocCommand& c) {
  return {{"name", c.name}, {"summary", c.summary}, {"options", list_of(c.options, option)}};
}

Json param(const DocParam& p) {
  Json j{{"name", p.name}, {"kind", p.kind}};
  j["required"] = p.required;
  j["positional"] = p.positional;
  put(j, "default", p.fallback);
  j["help"] = p.help;
  return j;
}

Json function(const DocFunction& f) {
  Json j{{"name", f.name}, {"call", signature(f)}, {"summary", f.summary()}, {"doc", f.doc}};
  put(j, "alias_of", f.alias_of);
  j["parameters"] = list_of(f.params, param);
  j["results"] = list_of(f.results, [](const DocResult& r) {
    return Json{{"name", r.name}, {"kind", r.kind}, {"help", r.help}};
  });
  put(j, "example_kernel", f.example_kernel);
  put(j, "example", f.example);
  return j;
}

Json lua_class(const ApiClass& c) {
  return {{"name", c.name},
          {"doc", c.doc},
          {"fields", list_of(c.fields,
                             [](const ApiField& f) {
                               return Json{{"name", f.name}, {"type", f.type}, {"doc", f.doc}};
                             })},
          {"functions", list_of(c.functions, [](const ApiFunction& f) {
             return Json{{"name", f.name},
                         {"parameters", list_of(f.params,
                                                [](const ApiParam& p) {
                                                  return Json{{"name", p.name}, {"type", p.type}};
                                                })},
                         {"results", f.results},
                         {"doc", f.doc}};
           })}};
}

}  // namespace

std::string doc_json(const Documentation& d) {
  const Json out{{"version", MOONLOOP_VERSION},
                 {"summary", d.summary},
                 {"options", list_of(d.options, option)},
                 {"commands", list_of(d.commands, command)},
                 {"transforms", list_of(d.transforms, function)},
                 {"library", list_of(d.library, function)},
                 {"lua", list_of(d.api, lua_class)},
                 {"topics", list_of(d.topics, [](const Topic& t) {
                    return Json{{"name", t.name}, {"group", t.group}, {"text", t.text}};
                  })}};
  return out.dump(2) + "\n";
}

}  // namespace moonloop::cli
