// SPDX-License-Identifier: BSD-3-Clause
// A timeline in the Trace Event Format, read strictly: anything that is not JSON, or does not hold together, is a failure.
#ifndef TESTS_TIMELINE_H
#define TESTS_TIMELINE_H

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <vector>

class Json {
  public:
    enum Kind { NOTHING, NUMBER, TEXT, TRUTH, LIST, OBJECT };
    Kind kind = NOTHING;
    long double number = 0; // or truth
    std::string text;
    std::vector<Json> items;
    std::map<std::string, Json> fields;

    // kind is NOTHING when the text is not one value of JSON.
    static Json parse(const std::string &text) {
        Json value;
        const char *at = text.c_str();
        if (!value.read(at) || *skip(at))
            return Json();
        return value;
    }
    const Json &operator[](const std::string &name) const {
        static const Json none;
        auto found = fields.find(name);
        return found == fields.end() ? none : found->second;
    }

  private:
    static const char *&skip(const char *&at) {
        while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
            at++;
        return at;
    }
    static bool word(const char *&at, const std::string &expected) {
        if (std::string(at, strnlen(at, expected.size())) != expected)
            return false;
        at += expected.size();
        return true;
    }
    static bool read_text(const char *&at, std::string &to) {
        if (*at++ != '"')
            return false;
        for (; *at != '"'; at++) {
            if (static_cast<unsigned char>(*at) < ' ' || (*at == '\\' && !strchr("\"\\/bfnrt", *++at)))
                return false;
            to += *at;
        }
        at++;
        return true;
    }
    bool read_number(const char *&at) {
        char *end;
        kind = NUMBER;
        number = strtold(at, &end);
        bool good = end > at && (*at == '-' || (*at >= '0' && *at <= '9'));
        at = end;
        return good;
    }
    bool read_members(const char *&at, char end) {
        kind = end == ']' ? LIST : OBJECT;
        if (*skip(++at) == end)
            return at++, true;
        for (;;) {
            std::string name;
            if (kind == OBJECT && (!read_text(skip(at), name) || *skip(at)++ != ':' || fields.count(name)))
                return false;
            Json value;
            if (!value.read(at))
                return false;
            if (kind == OBJECT)
                fields[name] = std::move(value);
            else
                items.push_back(std::move(value));
            if (*skip(at) == end)
                return at++, true;
            if (*at++ != ',')
                return false;
        }
    }
    bool read(const char *&at) {
        switch (*skip(at)) {
        case '{':
            return read_members(at, '}');
        case '[':
            return read_members(at, ']');
        case '"':
            kind = TEXT;
            return read_text(at, text);
        case 't':
        case 'f':
            kind = TRUTH;
            number = *at == 't';
            return word(at, number != 0 ? "true" : "false");
        default:
            return read_number(at);
        }
    }
};

struct Span {
    std::string name, category, algorithm;
    long long began_ns, ended_ns, bytes;
    bool overlaps;  // one of a pair of events
    int root, peer; // -1: it has none
    bool failed;
};

struct Track {
    std::string name;
    std::vector<Span> spans;

    long count(const std::string &call) const {
        long found = 0;
        for (const Span &span : spans)
            found += span.name == call;
        return found;
    }
};

class Timeline {
  public:
    std::map<std::pair<int, int>, Track> tracks; // by pid and tid
    std::map<int, std::string> processes;
    long long dropped = 0;

    explicit Timeline(const std::string &path) {
        std::ifstream file(path);
        std::stringstream text;
        text << file.rdbuf();
        EXPECT_TRUE(file.is_open()) << path;
        Json all = Json::parse(text.str());
        EXPECT_EQ(all["traceEvents"].kind, Json::LIST) << path << ":\n" << text.str().substr(0, 1000);
        for (const Json &event : all["traceEvents"].items)
            take(event);
        EXPECT_TRUE(open_.empty()) << "an operation without an end";
        for (const auto &[where, track] : tracks)
            check(track, where.first);
    }

    // The track of a rank, which is one; without a name when there is none.
    Track rank(int number) const {
        Track found;
        for (const auto &[where, track] : tracks)
            if (track.name == "rank " + std::to_string(number)) {
                EXPECT_EQ(found.name, "") << "two tracks of a rank";
                found = track;
            }
        return found;
    }

  private:
    std::map<std::string, std::vector<Span>> open_; // by id, one in the other

    static long long ns(const Json &microseconds) {
        EXPECT_EQ(microseconds.kind, Json::NUMBER);
        return std::llround(microseconds.number * 1000);
    }
    static Span span_of(const Json &event) {
        long long began = ns(event["ts"]);
        const Json &args = event["args"];
        return {event["name"].text,
                event["cat"].text,
                args["algorithm"].text,
                began,
                began,
                static_cast<long long>(args["bytes"].number),
                false,
                rank_of(args["root"]),
                rank_of(args["peer"]),
                args["failed"].number != 0};
    }
    static int rank_of(const Json &value) {
        return value.kind == Json::NUMBER ? static_cast<int>(value.number) : -1;
    }
    void take(const Json &event) {
        const std::string &phase = event["ph"].text, &name = event["name"].text;
        ASSERT_EQ(event["pid"].kind, Json::NUMBER);
        ASSERT_EQ(event["tid"].kind, Json::NUMBER);
        ASSERT_NE(name, "");
        int pid = static_cast<int>(event["pid"].number);
        Track &track = tracks[{pid, static_cast<int>(event["tid"].number)}];
        Span span = phase == "M" ? Span{} : span_of(event);
        if (phase == "M" && name == "process_name") {
            processes[pid] = event["args"]["name"].text;
        } else if (phase == "M" && name == "thread_name") {
            EXPECT_EQ(track.name, "") << "named twice";
            track.name = event["args"]["name"].text;
        } else if (phase == "X") {
            span.ended_ns += ns(event["dur"]);
            track.spans.push_back(span);
        } else if (phase == "b") {
            open_[event["id"].text].push_back(span);
        } else if (phase == "e") {
            std::vector<Span> &open = open_[event["id"].text];
            ASSERT_FALSE(open.empty()) << name;
            Span begun = open.back();
            EXPECT_EQ(begun.name, name);
            EXPECT_EQ(begun.category, event["cat"].text);
            EXPECT_TRUE(open.size() == 1 || open.front().category == begun.category) << name;
            begun.ended_ns = span.began_ns;
            begun.overlaps = true;
            track.spans.push_back(begun);
            open.pop_back();
            if (open.empty())
                open_.erase(event["id"].text);
        } else if (phase == "i" && name == "dropped") {
            dropped += static_cast<long long>(event["args"]["events"].number);
        } else {
            EXPECT_EQ(phase, "M") << name;
        }
    }
    // Every span ends after it begins; calls come one after the other, phases lie in the call before them.
    void check(const Track &track, int pid) const {
        const Span *call = nullptr;
        long long at = 0;
        EXPECT_TRUE(processes.count(pid));
        EXPECT_NE(track.name, "");
        for (const Span &span : track.spans) {
            EXPECT_LE(span.began_ns, span.ended_ns) << span.name;
            EXPECT_NE(span.category, "");
            if (span.overlaps)
                continue;
            EXPECT_LE(at, span.began_ns) << span.name;
            if (span.category == "phase") {
                ASSERT_NE(call, nullptr);
                EXPECT_LE(span.ended_ns, call->ended_ns) << span.name;
                at = span.ended_ns;
                continue;
            }
            EXPECT_TRUE(!call || call->ended_ns <= span.began_ns) << span.name;
            call = &span;
            at = span.began_ns;
        }
    }
};

#endif
