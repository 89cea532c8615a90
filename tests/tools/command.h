// SPDX-License-Identifier: BSD-3-Clause
/**
 * A command run as a child of the test, with limits, and looks at what it left behind.
 */
#ifndef TESTS_TOOLS_COMMAND_H
#define TESTS_TOOLS_COMMAND_H

#include <string>
#include <sys/types.h>
#include <vector>

/** Runs weftrun with a marker variable in its environment and an empty XDG_RUNTIME_DIR of its own. */
class Weftrun {
  public:
    /** Starts it at once. `input` is its stdin; it ignores these signals, as after nohup, and no others. */
    explicit Weftrun(const std::vector<std::string> &arguments, const std::string &input = "",
                     const std::vector<int> &ignored = {});
    ~Weftrun();
    Weftrun(const Weftrun &) = delete;
    Weftrun &operator=(const Weftrun &) = delete;

    /** Waits for the end. Returns the exit status, 1000 + signal, or -1 (and kills it) when it took longer than a minute. */
    int wait();
    /** Waits until what it printed on stdout holds `text` `times` times. False: it did not within a minute. */
    bool wait_for_output(const std::string &text, int times = 1);
    void signal(int number) const;
    pid_t pid() const {
        return pid_;
    }

    std::string out() const; /* what it has printed so far */
    std::string err() const;

    /** Processes of the job that are there (found by the marker in their environment), weftrun's own included. */
    std::vector<pid_t> processes() const;
    /** weftrun's own second process: the child of the one that was started and the parent of the ranks. -1: there is none. */
    pid_t second() const;
    /** Waits until there are none. False: some were left after ten seconds. */
    bool all_gone() const;
    /** Is the runtime directory empty? */
    bool clean() const;
    const std::string &directory() const {
        return directory_;
    }

  private:
    pid_t pid_ = -1;
    bool ended_ = false;
    int out_ = -1, err_ = -1;
    std::string marker_, directory_;
};

/** wait() and what it printed, for tests that need no more. */
struct Result {
    int status;
    std::string out, err;
};
Result run(const std::vector<std::string> &arguments, const std::string &input = "");

/** The arguments for a shell script as the program, after weftrun's own options. */
std::vector<std::string> script(std::vector<std::string> options, const std::string &text);
/** A shell script with a pipe as descriptor 9 that is full, and nobody reads it. */
std::string with_stopped_reader(const std::string &commands);

/** From /proc; -1: it is not there. */
pid_t parent_of(pid_t pid);

#endif
