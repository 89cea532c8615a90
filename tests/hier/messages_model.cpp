// SPDX-License-Identifier: BSD-3-Clause
#include "messages_model.h"
#include <algorithm>
#include <map>
#include <sstream>

namespace messages {

namespace {

// Nodes and what must come after each.
class Before {
  public:
    explicit Before(size_t nodes) : after_(nodes), waits_for_(nodes) {}
    void add(size_t first, size_t second) {
        after_[first].push_back(second);
        waits_for_[second]++;
    }
    // Those that no order has: in a cycle, or behind one. Kahn 1962.
    std::vector<size_t> left() const {
        std::vector<size_t> count = waits_for_, ready;
        for (size_t node = 0; node < count.size(); node++)
            if (count[node] == 0)
                ready.push_back(node);
        while (!ready.empty()) {
            size_t node = ready.back();
            ready.pop_back();
            for (size_t next : after_[node])
                if (--count[next] == 0)
                    ready.push_back(next);
        }
        std::vector<size_t> left;
        for (size_t node = 0; node < count.size(); node++)
            if (count[node] > 0)
                left.push_back(node);
        return left;
    }

  private:
    std::vector<std::vector<size_t>> after_;
    std::vector<size_t> waits_for_;
};

std::ostream &operator<<(std::ostream &out, const Pattern &pattern) {
    return out << "(source " << pattern.source << ", tag " << pattern.tag << ")";
}

class Check {
  public:
    Check(const Program &program, int rank, int phase, const std::vector<Receive> &receives)
        : program_(program), rank_(rank), receives_(receives) {
        for (size_t id = 0; id < program.messages.size(); id++)
            if (program.messages[id].to == rank && program.messages[id].phase == phase) {
                node_[int(id)] = ids_.size();
                ids_.push_back(int(id));
            }
    }

    std::string run() {
        std::string fault = each();
        return fault.empty() ? together() : fault;
    }

  private:
    // Each receive got a message that matches, and each message was got once.
    std::string each() const {
        std::ostringstream out;
        std::map<int, int> times;
        for (const Receive &receive : receives_) {
            if (receive.message == no_message) {
                if (!receive.taken_back)
                    out << "the receive of " << receive.pattern << " got nothing. ";
                continue;
            }
            if (!node_.count(receive.message))
                out << "the receive of " << receive.pattern << " got message " << receive.message
                    << ", which is another rank's or phase's. ";
            else if (!receive.pattern.takes(message(receive)))
                out << "the receive of " << receive.pattern << " got message " << receive.message
                    << ", which does not match. ";
            if (++times[receive.message] == 2)
                out << "message " << receive.message << " was received twice. ";
        }
        for (int id : ids_)
            if (!times.count(id))
                out << "message " << id << " was lost. ";
        return out.str();
    }

    std::string together() {
        int last = 0;
        for (const Receive &receive : receives_)
            last = std::max({last, receive.completed, receive.taken_back});
        Before before(ids_.size() + size_t(last) + 1); // the messages, then the times
        for (int time = 0; time < last; time++)
            before.add(at(time), at(time + 1));
        std::map<int, size_t> latest_of;
        for (size_t node = 0; node < ids_.size(); node++) {
            int sender = program_.messages[size_t(ids_[node])].from;
            if (latest_of.count(sender))
                before.add(latest_of[sender], node);
            latest_of[sender] = node;
        }
        for (size_t younger = 0; younger < receives_.size(); younger++)
            if (receives_[younger].message != no_message) {
                size_t node = node_.at(receives_[younger].message);
                if (receives_[younger].completed)
                    before.add(node, at(receives_[younger].completed));
                for (size_t older = 0; older < younger; older++)
                    if (receives_[older].pattern.takes(message(receives_[younger])))
                        before.add(end_of(receives_[older]), node);
            }
        std::vector<size_t> left = before.left();
        return left.empty() ? "" : describe(left);
    }

    // When it no longer takes messages.
    size_t end_of(const Receive &receive) const {
        return receive.message == no_message ? at(receive.taken_back) : node_.at(receive.message);
    }
    size_t at(int time) const {
        return ids_.size() + size_t(time);
    }
    const Message &message(const Receive &receive) const {
        return program_.messages[size_t(receive.message)];
    }

    std::string describe(const std::vector<size_t> &left) const {
        std::ostringstream out;
        out << "no order of arrival explains these receives of rank " << rank_ << ":";
        for (const Receive &receive : receives_) {
            bool in = receive.message != no_message && std::count(left.begin(), left.end(), node_.at(receive.message));
            if (!in && !receive.taken_back)
                continue;
            out << "\n    " << receive.pattern << " posted at " << receive.posted;
            if (receive.message == no_message)
                out << ", taken back at " << receive.taken_back;
            else
                out << " got message " << receive.message << " (source " << message(receive).from << ", tag "
                    << message(receive).tag << "), known at " << receive.completed;
        }
        return out.str();
    }

    const Program &program_;
    int rank_;
    const std::vector<Receive> &receives_;
    std::vector<int> ids_; // the messages of the phase to the rank, as sent
    std::map<int, size_t> node_;
};

} // namespace

std::string contradiction(const Program &program, int rank, int phase, const std::vector<Receive> &receives) {
    return Check(program, rank, phase, receives).run();
}

} // namespace messages
