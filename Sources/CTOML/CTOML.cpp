#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
// Its assertions would end the program for a document such as `[*]`, whose error the parser then finds.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include "CTOML.h"
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <toml++/toml.h>
#include <vector>

namespace {

struct Walk {
    larder_toml_visit visit;
    void *context;
    std::vector<const char *> keys;

    void report(const toml::node &node, larder_toml_kind kind, std::string_view text) {
        visit(context, keys.data(), keys.size(), kind, text.data(), text.size(), node.source().begin.line);
    }

    void table(const toml::table &table) {
        // A table is sorted by its keys.
        std::vector<std::pair<const toml::key *, const toml::node *>> members;
        for (auto &&[key, node] : table) members.emplace_back(&key, &node);
        std::stable_sort(members.begin(), members.end(), [](const auto &a, const auto &b) {
            return a.second->source().begin < b.second->source().begin;
        });
        for (auto &[key, node] : members) {
            const std::string name(key->str());
            keys.push_back(name.c_str());
            value(*node, false);
            keys.pop_back();
        }
    }

    void value(const toml::node &node, bool isElement) {
        if (auto *members = node.as_table(); members && !isElement) {
            report(node, LARDER_TOML_TABLE, "");
            table(*members);
        } else if (auto *elements = node.as_array(); elements && !isElement) {
            for (auto &element : *elements) value(element, true);
        } else if (auto *text = node.as_string()) {
            report(node, LARDER_TOML_STRING, text->get());
        } else {
            std::ostringstream written;
            if (auto *whole = node.as_integer()) {
                written << whole->get();
            } else if (auto *number = node.as_floating_point()) {
                written << number->get();
            } else if (auto *flag = node.as_boolean()) {
                written << (flag->get() ? "true" : "false");
            }
            report(node, kind(node), written.str());
        }
    }

    static larder_toml_kind kind(const toml::node &node) {
        if (node.is_integer()) return LARDER_TOML_INTEGER;
        if (node.is_floating_point()) return LARDER_TOML_FLOAT;
        if (node.is_boolean()) return LARDER_TOML_BOOLEAN;
        return LARDER_TOML_OTHER;
    }
};

}

unsigned larder_toml_parse(const char *text, size_t length, larder_toml_visit visit, void *context, char *error,
                           size_t size) {
    auto result = toml::parse(std::string_view(text, length));
    if (!result) {
        std::snprintf(error, size, "%.*s", static_cast<int>(result.error().description().size()),
                      result.error().description().data());
        return std::max(1U, static_cast<unsigned>(result.error().source().begin.line));
    }
    Walk{visit, context, {}}.table(result.table());
    return 0;
}
